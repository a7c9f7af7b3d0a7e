/**
 * The ops of extension/engine/core/program.ts bound to memory, and one table of functions per instruction
 * set.
 */
#pragma once

#include "draw.h"
#include "inline.h"
#include "matrix.h"
#include "step.h"

namespace anllm {

enum class Activation : uint8_t { kIdentity, kSilu, kGelu, kGeluTanh, kRelu, kSigmoid, kSwigluOai };

/** y = (x - mean) / deviation * (weight + offset) + bias; for the RMS norm the mean is taken as zero. */
struct Norm {
  bool subtract_mean;
  const float* weight;  // [weight_size] or null
  const float* bias;    // [weight_size] or null
  int64_t weight_size;  // columns of one group, or of the whole row
  float eps;
  float offset;
};

/** sum = residual + norm(x). */
struct Join {
  const float* residual;
  Norm norm;
  float* sum;
};

/** What a matrix product reads: rows of x, then the join, then the norm, each if given. */
struct MatmulInput {
  const float* x;
  int64_t stride;    // columns from one row to the next
  const Join* join;  // or null
  const Norm* norm;  // or null
};

/** A run of columns of a value. */
struct ColumnsView {
  const float* first;  // null: absent
  int64_t stride;      // columns from one row to the next
};

enum class KvFormat : uint8_t { kFloat, kHalf, kInt8 };

/** Neighbouring columns of a token's head that share a scale in kInt8. */
constexpr int64_t kKvGroup = 32;

/**
 * Keys and values of a layer. In kInt8 an element is code * scale, with a float32 scale for each token and
 * group: scales that tokens shared would change when one joins, and with them what earlier steps have
 * computed. They lie behind the codes of their block and head, of keys as [groups][kKvBlock], of values as
 * [kKvBlock][groups].
 */
struct KvLayer {
  uint8_t* keys;    // [blocks][kv_heads] of KeyBytes: [key_dim][kKvBlock]
  uint8_t* values;  // [blocks][kv_heads] of ValueBytes: [kKvBlock][value_stride]
  int64_t kv_heads;
  int64_t key_dim;
  int64_t value_dim;
  int64_t value_stride;  // value_dim rounded up to 16
  KvFormat format;
};

ANLLM_INLINE int64_t KvGroups(int64_t columns) {
  return (columns + kKvGroup - 1) / kKvGroup;
}
/** Of `columns` columns of all tokens of a block. */
ANLLM_INLINE int64_t KvBytes(KvFormat format, int64_t columns) {
  switch (format) {
    case KvFormat::kFloat:
      return kKvBlock * columns * 4;
    case KvFormat::kHalf:
      return kKvBlock * columns * 2;
    case KvFormat::kInt8:
      return kKvBlock * (columns + KvGroups(columns) * 4);
  }
  return 0;
}
/** Of one head in one block. */
ANLLM_INLINE int64_t KeyBytes(const KvLayer& kv) {
  return KvBytes(kv.format, kv.key_dim);
}
ANLLM_INLINE int64_t ValueBytes(const KvLayer& kv) {
  return KvBytes(kv.format, kv.value_stride);
}

/** Recurrent state of a layer: one slot after the other. */
struct StateLayer {
  float* inputs;    // [slots][taps - 1][Channels()], oldest first
  float* matrices;  // [slots][value_heads][key_dim][value_dim]
  int64_t key_heads;
  int64_t value_heads;
  int64_t key_dim;
  int64_t value_dim;
  int64_t taps;
  bool tiled;

  /** The key head that a value head reads. */
  ANLLM_INLINE int64_t KeyHead(int64_t head) const {
    return tiled ? head % key_heads : head * key_heads / value_heads;
  }
};

struct EmbedOp {
  Matrix weight;
  float scale;
  float* out;  // [T, weight.cols]
};

struct NormOp {
  const float* x;
  float* out;
  Rows rows;
  int64_t cols;
  int64_t groups;
  Norm norm;
  ColumnsView gate;
  Activation gate_activation;
  const float* residual;  // like out, or null
};

struct LinearPart {
  Matrix weight;
  const float* bias;  // [weight.rows] or null
};

struct LinearOp {
  MatmulInput input;
  const float* residual;  // like out, or null
  float* out;             // [rows, out_cols]
  Rows rows;
  int64_t out_cols;
  const LinearPart* parts;
  int64_t num_parts;
  float factor;
  Activation activation;
  int planes;  // int8 planes of the activations for quantized weights; 0: float32
};

struct GluOp {
  MatmulInput input;
  float* out;  // [rows, gate.rows]
  Rows rows;
  Matrix gate;
  Matrix up;
  const float* gate_bias;  // [gate.rows] or null
  const float* up_bias;    // [gate.rows] or null
  Activation activation;
  int planes;
};

struct ActivationOp {
  const float* gate;
  const float* up;  // or null
  float* out;
  Rows rows;
  int64_t cols;
  Activation activation;
};

struct RopeOp {
  const float* x;
  float* out;
  int64_t heads;
  int64_t head_dim;
  const RopeTable* rope;
};

struct KvWriteOp {
  const float* k;
  const float* v;
  const float* shared_key;  // [T, shared_cols] or null
  int64_t shared_cols;
  KvLayer kv;
};

struct AttentionPrepareOp {
  const float* qkv;
  int64_t qkv_stride;
  float* out;  // [T, heads * head_dim]
  int64_t heads;
  int64_t head_dim;
  const Norm* q_norm;     // or null
  const Norm* k_norm;     // or null
  bool whole_row_norm;    // over all heads of a row
  const RopeTable* rope;  // or null
  KvLayer kv;
};

struct LatentPrepareOp {
  ColumnsView q;
  const float* kv_rows;  // [T, heads * rope->start + heads * value_dim]
  ColumnsView shared_key;
  float* out;  // [T, heads * key_dim]
  const RopeTable* rope;
  KvLayer kv;
};

struct AttentionOp {
  const float* q;
  float* out;
  int64_t heads;
  KvLayer kv;
  float scale;
  int64_t window;      // 0: all
  float softcap;       // 0: none
  const float* sinks;  // [heads] or null
  ColumnsView gate;
  bool splits_keys;  // threads may share the keys of a query row
};

struct GatedDeltaOp {
  const float* x;
  int64_t stride;
  const float* conv;       // [channels][taps]
  const float* decay;      // [value_heads]
  const float* time_bias;  // [value_heads]
  float* out;              // [T, value_heads * value_dim]
  StateLayer state;
};

enum class Scores : uint8_t { kSoftmax, kSoftmaxOfChosen, kSigmoid };

struct Routing {
  int64_t experts;
  int64_t top_k;
  Scores scores;
  int64_t groups;  // 0: no groups
  int64_t kept_groups;
  bool rank_by_two_best;
  bool normalize;
  float factor;
};

struct MoeRouteOp {
  MatmulInput input;
  Matrix router;
  const float* bias;        // [experts] or null
  const float* correction;  // [experts] or null
  Matrix shared_gate;       // rows 0: none
  Routing routing;
  float* out;  // [T, 2 * top_k + 1]
};

/** One projection of all experts. */
struct ExpertWeights {
  const Matrix* matrices;  // the rows of all experts, one after the other
  int64_t experts_per_matrix;
  int64_t rows;       // of one expert
  const float* bias;  // [experts * rows] or null
  Matrix shared;      // rows 0: none
};

struct MoeLinearOp {
  const float* x;
  int64_t x_cols;
  const float* route;  // [T, 2 * top_k + 1]
  int64_t experts;
  int64_t top_k;
  bool reduce;
  ExpertWeights weights;
  const float* residual;  // like out, or null
  float* out;
  int64_t out_cols;
  int planes;
};

struct MoeGluOp {
  MatmulInput input;
  const float* route;
  int64_t experts;
  int64_t top_k;
  ExpertWeights gate;
  ExpertWeights up;
  Activation activation;
  float* out;  // [T, out_cols]: the slots side by side
  int64_t out_cols;
  int planes;
};

struct AddOp {
  const float* a;
  const float* b;
  float* out;
  Rows rows;
  int64_t cols;
};

struct ScaleOp {
  const float* x;
  float* out;
  Rows rows;
  int64_t cols;
  float factor;
  float softcap;  // 0: none
};

struct GatherRowsOp {
  const float* x;
  float* out;
  int64_t cols;
};

/** The tokens of those rows of logits that want one; ids of other rows stay as they are. */
struct SampleOp {
  const float* logits;
  int64_t stride;     // from one row to the next
  int64_t columns;    // tokens that may be drawn: the first ones
  const Draw* draws;  // [R]
  int32_t* ids;       // [R]; -1: the logits are not numbers
  uint8_t* memory;    // SampleThreadBytes a thread
};

struct Kernels {
  const char* isa;
  void (*embed)(const EmbedOp&, const Step&);
  void (*norm)(const NormOp&, const Step&);
  void (*linear)(const LinearOp&, const Step&);
  void (*glu)(const GluOp&, const Step&);
  void (*activation)(const ActivationOp&, const Step&);
  void (*rope)(const RopeOp&, const Step&);
  void (*kv_write)(const KvWriteOp&, const Step&);
  void (*attention_prepare)(const AttentionPrepareOp&, const Step&);
  void (*latent_prepare)(const LatentPrepareOp&, const Step&);
  void (*attention)(const AttentionOp&, const Step&);
  void (*gated_delta)(const GatedDeltaOp&, const Step&);
  void (*moe_route)(const MoeRouteOp&, const Step&);
  void (*moe_linear)(const MoeLinearOp&, const Step&);
  void (*moe_glu)(const MoeGluOp&, const Step&);
  void (*add)(const AddOp&, const Step&);
  void (*scale)(const ScaleOp&, const Step&);
  void (*gather_rows)(const GatherRowsOp&, const Step&);
  void (*sample)(const SampleOp&, const Step&);
};

}  // namespace anllm
