/** Parameters of a dispatch: the last binding of every kernel. Shared with the encoder, so only 4-byte
 * fields. */
#pragma once

#if defined(__METAL_VERSION__) || defined(ANLLM_KERNELS)
#include "msl.h"
#else
#include <cstdint>

namespace anllm::metal {

using uint = uint32_t;
#endif

/** Tokens in one block of the key/value pool. */
enum { BLOCK_TOKENS = 16 };
/** Neighbouring columns of a key or value whose 8-bit codes share a scale: the lanes of a simdgroup. */
enum { CODE_GROUP = 32 };
inline uint code_groups(uint dim) {
  return (dim + CODE_GROUP - 1) / CODE_GROUP;
}
/** Widest head, and the threads of the kernels that take one element each. */
enum { MAX_HEAD_DIM = 256, ELEMENT_THREADS = 256 };

struct ElementParams {
  uint count;
};
static_assert(sizeof(ElementParams) == 4, "layout shared with the encoder");

struct ScaleParams {
  uint count;
  float factor;
  /** Read when kHasSoftcap. */
  float softcap;
};
static_assert(sizeof(ScaleParams) == 12, "layout shared with the encoder");

struct EmbedParams {
  uint columns;
  float scale;
};
static_assert(sizeof(EmbedParams) == 8, "layout shared with the encoder");

struct GatherParams {
  uint columns;
};
static_assert(sizeof(GatherParams) == 4, "layout shared with the encoder");

struct NormParams {
  /** Columns of one group; groups of a row lie side by side. */
  uint size;
  uint groups;
  /** Elements of weight and bias: `size`, or all groups. */
  uint weight_size;
  /** Columns of a row of x, and the first one that is read. */
  uint x_stride;
  uint x_column;
  uint gate_stride;
  uint gate_column;
  float eps;
  /** Added to the weight. */
  float offset;
};
static_assert(sizeof(NormParams) == 36, "layout shared with the encoder");

/** cos and sin of pair i at a position: of position * frequencies[i] / 2^64 turns, times `scale`. */
struct RopeParams {
  uint heads;
  uint head_dim;
  uint pairs;
  /** First column of a head that is rotated. */
  uint start;
  float scale;
};
static_assert(sizeof(RopeParams) == 20, "layout shared with the encoder");

/**
 * out[:, out_column … out_column + outputs) = activation(factor * (pre(x) · weightᵀ + bias)) + residual, or a
 * glu of two rows of the weight.
 */
struct LinearParams {
  /** Rows of x. */
  uint rows;
  uint columns;
  uint outputs;
  /** Columns of a row of x, and the first one that is read. */
  uint x_stride;
  uint x_column;
  /** Columns of a row of out and residual, and the first one that is written. */
  uint out_stride;
  uint out_column;
  /** kIsGlu: output i is gated(row i * gate_step, row i * gate_step + up_offset) of the weight; bias is by
   * row. */
  uint gate_step;
  uint up_offset;
  /** Matrix product only: columns of x in one of the parts of a split sum, a multiple of 64. */
  uint part_columns;
  /** The norm of x. */
  float eps;
  float offset;
  /** kHasJoin: x becomes residual stream + norm(x) first. */
  float join_eps;
  float join_offset;
  float factor;
};
static_assert(sizeof(LinearParams) == 60, "layout shared with the encoder");

struct KvWriteParams {
  uint kv_heads;
  uint key_dim;
  uint value_dim;
  /** Columns at the end of every key that all heads share. */
  uint shared_dim;
  uint blocks_per_sequence;
};
static_assert(sizeof(KvWriteParams) == 20, "layout shared with the encoder");

struct AttentionPrepareParams {
  uint heads;
  uint kv_heads;
  uint head_dim;
  /** Columns of a row of qkv. */
  uint qkv_stride;
  uint pairs;
  /** First column of a head that is rotated. */
  uint rope_start;
  uint blocks_per_sequence;
  /** Elements from one head's norm weight to the next one's: 0 when all heads share it. */
  uint q_norm_stride;
  uint k_norm_stride;
  /** 1: norms are over all heads of a row together. */
  uint is_whole_row;
  float rope_scale;
  float q_eps;
  float k_eps;
  float q_offset;
  float k_offset;
};
static_assert(sizeof(AttentionPrepareParams) == 60, "layout shared with the encoder");

struct LatentPrepareParams {
  uint heads;
  uint key_dim;
  uint value_dim;
  uint pairs;
  /** First column of a head that is rotated; the shared key is what follows. */
  uint rope_start;
  uint q_stride;
  uint q_column;
  uint shared_stride;
  uint shared_column;
  uint blocks_per_sequence;
  float rope_scale;
};
static_assert(sizeof(LatentPrepareParams) == 44, "layout shared with the encoder");

struct AttentionParams {
  uint heads;
  uint kv_heads;
  uint blocks_per_sequence;
  float scale;
  /** Latest positions seen, the row's own included; read when kHasWindow. */
  uint window;
  /** Read when kHasSoftcap. */
  float softcap;
  /** Decoding: parts of the keys of a row, each a threadgroup of its own. 1: the result goes to out. */
  uint splits;
  uint gate_stride;
  uint gate_column;
};
static_assert(sizeof(AttentionParams) == 36, "layout shared with the encoder");

/** Attention of rows whose keys and values are still in qkv. */
struct AttentionAppendParams {
  AttentionParams attention;
  AttentionPrepareParams prepare;
};
static_assert(sizeof(AttentionAppendParams) == 96, "layout shared with the encoder");

/** Prefill: a tile is up to TILE_QUERIES neighbouring rows of one sequence: first row, rows, sequence, 0. */
enum { TILE_QUERIES = 32, TILE_WORDS = 4 };

struct MoeRouteParams {
  uint columns;
  uint x_stride;
  uint x_column;
  uint experts;
  uint top_k;
  uint groups;
  uint kept_groups;
  float factor;
  /** The norm of x. */
  float eps;
  float offset;
};
static_assert(sizeof(MoeRouteParams) == 40, "layout shared with the encoder");

struct ExpertsParams {
  /** Of one expert's matrix. */
  uint columns;
  uint expert_rows;
  uint top_k;
  uint x_stride;
  uint out_stride;
  /** kIsGlu: the ups lie so many rows after the gates. */
  uint up_offset;
  /** The norm of x. */
  float eps;
  float offset;
  /** Sorted only: rows of x, and tiles that are dispatched. */
  uint rows;
  uint max_tiles;
};
static_assert(sizeof(ExpertsParams) == 40, "layout shared with the encoder");

struct GatedDeltaParams {
  uint key_heads;
  uint value_heads;
  uint key_dim;
  uint value_dim;
  uint taps;
  uint channels;
  uint x_stride;
  /** 1: value head h reads key head h % key_heads; 0: neighbours share one. */
  uint tiled;
  /** Sequences with so many rows in the step and more go in chunks, the others row by row. */
  uint chunked_rows;
};
static_assert(sizeof(GatedDeltaParams) == 36, "layout shared with the encoder");

/** Rows of a sequence that one thread convolves: more than a window has. */
enum { CONVOLVED_ROWS = 32 };
/** Rows of a chunk, and the widest keys that its kernels take. */
enum { DELTA_CHUNK = 16, MAX_CHUNK_KEY_DIM = 128 };
/** What is prepared of a value head in a chunk, in floats; see metal/gated_delta_chunk.metal. */
enum {
  CHUNK_SOLVED = 0,
  CHUNK_SCORES = DELTA_CHUNK * DELTA_CHUNK,
  CHUNK_KEPT = 2 * DELTA_CHUNK * DELTA_CHUNK,
  CHUNK_LEFT = CHUNK_KEPT + DELTA_CHUNK,
  CHUNK_FLOATS = CHUNK_LEFT + DELTA_CHUNK
};
/** A sequence's chunks lie from its first row / CHUNK_SPACING on: enough for one that has as many rows. */
enum { CHUNK_SPACING = DELTA_CHUNK / 2 };

/** Threads that draw from one row. */
enum { SAMPLE_THREADS = 512 };

struct SampleParams {
  /** Tokens that may be drawn: the first ones of a row. */
  uint columns;
  /** From one row of logits to the next. */
  uint stride;
  /** Of one mask. */
  uint mask_words;
};
static_assert(sizeof(SampleParams) == 12, "layout shared with the encoder");

/** Words of a draw: floats as their bits. DRAW_MASK: 0 for none, else the number of the mask and 1. */
enum {
  DRAW_ROW = 0,
  DRAW_TEMPERATURE = 1,
  DRAW_TOP_K = 2,
  DRAW_TOP_P = 3,
  DRAW_MIN_P = 4,
  DRAW_SEED_LOW = 5,
  DRAW_SEED_HIGH = 6,
  DRAW_INDEX_LOW = 7,
  DRAW_INDEX_HIGH = 8,
  DRAW_MASK = 9,
  DRAW_WORDS = 12
};

#if !defined(KERNEL)
}  // namespace anllm::metal
#endif
