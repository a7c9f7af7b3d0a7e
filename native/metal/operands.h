/** What ops work on, as the encoder sees it. */
#pragma once

#include "device.h"

namespace anllm::metal {

/** Columns of an activation [rows, stride], row-major. */
struct Values {
  BufferView view;
  /** DTYPE_F32 or DTYPE_F16. */
  DType type = DTYPE_F32;
  /** Columns of a row in memory (0: as many as the op takes), and the first one that is meant. */
  uint32_t stride = 0;
  uint32_t column = 0;
};

inline uint32_t StrideOf(const Values& values, uint32_t columns) {
  return values.stride == 0 ? columns : values.stride;
}

/** A weight [rows, columns] as stored (dense), or packed numbers with scales and biases (DTYPE_AFFINE). */
struct Matrix {
  uint32_t rows = 0;
  uint32_t columns = 0;
  DType type = DTYPE_F32;
  BufferView data;
  // DTYPE_AFFINE only.
  uint32_t bits = 0;
  uint32_t group_size = 0;
  DType scale_type = DTYPE_F32;
  BufferView scales;
  BufferView biases;
};

/** NormSpec of extension/engine/core/program.ts; weight and bias are float32 and may be absent. */
struct NormOperand {
  NormKind kind = NORM_NONE;
  BufferView weight;
  BufferView bias;
  float eps = 0;
  float offset = 0;
};

/** x becomes residual + norm(x) first, which is also written to sum; float32 [rows, columns], RMS without
 * bias. */
struct JoinOperand {
  NormOperand norm;
  BufferView residual;
  BufferView sum;
};

/**
 * out = activation(factor * (pre(x) · weightᵀ + bias)) (+ residual); with `is_glu`
 * out = activation(pre(x) · gateᵀ + bias) * (pre(x) · upᵀ + bias), the two matrices being rows of `weight`.
 */
struct LinearOperand {
  uint32_t rows = 0;
  /** As many columns as the weight has, from x.column on. */
  Values x;
  Matrix weight;
  /** NORM_NONE: no join. */
  JoinOperand join;
  NormOperand norm;
  /** float32 [weight.rows], or absent. */
  BufferView bias;
  /** float32, laid out as out; or absent. */
  BufferView residual;
  Values out;
  uint32_t outputs = 0;
  float factor = 1;
  ActivationKind activation = ACTIVATION_NONE;
  bool is_glu = false;
  /** Row of the gate of output i is i * gate_step, the row of its up lies up_offset further. */
  uint32_t gate_step = 1;
  uint32_t up_offset = 0;
  /** Products of halves are precise enough though x and out are floats. */
  bool is_fast = false;
};

/**
 * The rows of a step by the kernel that takes them, int32: `rows` holds numbers of single rows, `tiles`
 * TILE_WORDS words a tile. See PlanAttention.
 */
struct AttentionWork {
  uint32_t row_count = 0;
  BufferView rows;
  uint32_t tile_count = 0;
  BufferView tiles;
  /** Most positions that a single row sees. */
  uint32_t longest = 0;
};

struct AttentionOperand {
  uint32_t heads = 0;
  float scale = 0;
  /** 0: all positions. */
  uint32_t window = 0;
  /** 0: none. */
  float softcap = 0;
  /** float32 [heads], or absent. */
  BufferView sinks;
  /** Its sigmoid multiplies out; or absent. */
  Values gate;
  Values q;
  Values out;
};

/** Memory that ops use while they run; its sizes are a ScratchBytes. */
struct Scratch {
  /** The normalised x of a matrix product, or the convolved inputs of a recurrence. */
  BufferView normalized;
  /** Sums of the parts of a split matrix product. */
  BufferView parts;
  /** Whole products that another dispatch of the same op reads. */
  BufferView products;
};

/** Bytes that an op needs of each part of the scratch memory. */
struct ScratchBytes {
  size_t normalized = 0;
  size_t parts = 0;
  size_t products = 0;
};

/** latent_prepare of extension/engine/core/program.ts; rope.start + the columns of shared_key = key_dim. */
struct LatentOperand {
  uint32_t heads = 0;
  Values q;
  Values kv;
  Values shared_key;
  Values out;
};

/** RopeSpec; frequencies: one uint2 a pair, fractions of a turn in units of 2^-64, high word first. */
struct RopeOperand {
  RopeKind kind = ROPE_NONE;
  uint32_t pairs = 0;
  /** First column of a head that is rotated. */
  uint32_t start = 0;
  float scale = 1;
  BufferView frequencies;
};

/** What attention_prepare of extension/engine/core/program.ts does to the first columns of qkv. */
struct PrepareOperand {
  uint32_t heads = 0;
  /** The same kind, or NORM_NONE. */
  NormOperand q_norm;
  NormOperand k_norm;
  /** The norms are over all heads of a row together. */
  bool is_whole_row = false;
  RopeOperand rope;
  Values qkv;
};

/** One layer of the key/value pool, laid out as metal/paging.h says. */
struct KvLayerOperand {
  BufferView keys;
  BufferView values;
  /** DTYPE_F32, DTYPE_F16 or DTYPE_I8. */
  DType type = DTYPE_F32;
  uint32_t kv_heads = 0;
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
};

/** Recurrent state of one layer, float32, as metal/gated_delta.metal says. */
struct StateLayerOperand {
  /** [slots, taps - 1, channels] */
  BufferView inputs;
  /** [slots, value_heads, value_dim, key_dim] */
  BufferView matrices;
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t taps = 0;
  bool tiled = false;

  /** Of the convolution: q, k and v side by side. */
  uint32_t Channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

/** gated_delta of extension/engine/core/program.ts; all float32. */
struct GatedDeltaOperand {
  Values x;
  /** [channels, taps], [value_heads], [value_heads] */
  BufferView conv;
  BufferView decay;
  BufferView time_bias;
  /** [T, value_heads * value_dim] */
  Values out;
};

/** moe_route; the rows of `router` are those of the experts, and one more with `has_shared_gate`. */
struct MoeRouteOperand {
  uint32_t rows = 0;
  Values x;
  NormOperand norm;
  Matrix router;
  /** float32 [experts], or absent. */
  BufferView bias;
  BufferView correction;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  bool has_shared_gate = false;
  ScoreKind scores = SCORES_SOFTMAX;
  GroupRank group_rank = GROUPS_NONE;
  uint32_t groups = 0;
  uint32_t kept_groups = 0;
  bool is_normalized = false;
  float factor = 1;
  /** float32 [T, 2 top_k + 1] */
  BufferView out;
};

/**
 * Rows through the experts of their route; the rows of `weight` are those of all experts, with `is_glu` the
 * gates of all and then the ups of all. Expanding, x goes to every slot and `out` holds the slots side by
 * side; reducing, x holds the slots and their weighted sum comes out.
 */
struct ExpertsOperand {
  uint32_t rows = 0;
  Values x;
  /** Expanding only. */
  NormOperand norm;
  BufferView route;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  bool is_reduce = false;
  Matrix weight;
  /** float32 [weight.rows], or absent. */
  BufferView bias;
  uint32_t expert_rows = 0;
  bool is_glu = false;
  uint32_t up_offset = 0;
  ActivationKind activation = ACTIVATION_NONE;
  /** Reducing only, float32, laid out as out, or absent: what the shared expert gives, and what is added. */
  BufferView shared;
  BufferView residual;
  Values out;
};

/** The input of a step, int32 each; see StepBatch of extension/engine/backend/backend.ts. */
struct StepOperand {
  /** T */
  uint32_t rows = 0;
  /** S */
  uint32_t sequences = 0;
  BufferView tokens;
  BufferView positions;
  BufferView sequence_of;
  BufferView block_tables;
  uint32_t blocks_per_sequence = 0;
  /** [S + 1] and [S]; of programs with recurrent state. */
  BufferView offsets;
  BufferView state_slots;
};

/** What is drawn from the logits of a step. */
struct DrawOperand {
  uint32_t count = 0;
  /** Tokens that may be drawn: the first ones. */
  uint32_t columns = 0;
  /** [count, DRAW_WORDS] uint */
  BufferView draws;
  /** [masks, mask_words] uint; bit id % 32 of word id / 32 allows a token */
  BufferView masks;
  uint32_t mask_words = 0;
};

/** Whether kernels of few rows have a form for this weight that multiplies halves. */
inline bool HasHalves(const Matrix& weight) {
  return weight.type == DTYPE_AFFINE && weight.bits == 4 && weight.group_size >= 64;
}

/** Whether they take it: a half on either side tells that this model runs in half precision. */
inline bool MultipliesHalves(const Matrix& weight, const Values& x, const Values& out) {
  return HasHalves(weight) && (x.type == DTYPE_F16 || out.type == DTYPE_F16);
}

/** Function constants that say how a weight is coded. */
inline void Describe(const Matrix& weight, Constants& constants) {
  constants.weight_type = weight.type;
  constants.bits = weight.bits;
  constants.group_size = weight.group_size;
  constants.scale_type = weight.scale_type;
}

}  // namespace anllm::metal
