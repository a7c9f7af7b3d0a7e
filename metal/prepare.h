/** The heads of q, k and v as attention wants them: normed (each, or all of a row together) and rotated. */
#pragma once

#include "paging.h"
#include "rotate.h"

enum { PART_QUERY = 0, PART_KEY = 1, PART_VALUE = 2 };

/** A row of the first (heads + 2 kv_heads) * head_dim columns of qkv, and what is done to it. */
struct Heads {
  DEVICE(const uchar) qkv;
  DEVICE(const float) q_norm_weight;
  DEVICE(const float) q_norm_bias;
  DEVICE(const float) k_norm_weight;
  DEVICE(const float) k_norm_bias;
  DEVICE(const uint2) frequencies;
  uint row;
  uint position;
};

/** Leaves a normed head of `part` in x [head_dim]; by one simdgroup, for itself. */
inline void stage_head(const thread Heads& heads, uint part, uint head, THREADGROUP(float) x, uint lane,
                       constant AttentionPrepareParams& p) {
  const uint dim = p.head_dim;
  const bool is_query = part == PART_QUERY;
  const uint part_first = is_query ? 0 : part == PART_KEY ? p.heads : p.heads + p.kv_heads;
  const uint first = heads.row * p.qkv_stride + (part_first + head) * dim;

  // The norm of this head or of all of them; sums are taken for values too, so that no lane waits alone.
  const bool has_norm = part != PART_VALUE && (is_query ? kHasQNorm : kHasKNorm);
  const uint norm_first = p.is_whole_row ? first - head * dim : first;
  const uint norm_size = p.is_whole_row ? dim * (is_query ? p.heads : p.kv_heads) : dim;
  float mean = 0.0f;
  if (kNorm == NORM_LAYER) {
    for (uint i = lane; i < norm_size; i += 32) mean += load_value(heads.qkv, kXType, norm_first + i);
    mean = simd_sum(mean) / float(norm_size);
  }
  float squares = 0.0f;
  if (kNorm != NORM_NONE) {
    for (uint i = lane; i < norm_size; i += 32) {
      const float centred = load_value(heads.qkv, kXType, norm_first + i) - mean;
      squares += centred * centred;
    }
    squares = simd_sum(squares);
  }
  const float inverse = rsqrt(squares / float(norm_size) + (is_query ? p.q_eps : p.k_eps));
  const float offset = is_query ? p.q_offset : p.k_offset;
  DEVICE(const float) weight = is_query ? heads.q_norm_weight : heads.k_norm_weight;
  DEVICE(const float) bias = is_query ? heads.q_norm_bias : heads.k_norm_bias;
  const uint shift = head * (is_query ? p.q_norm_stride : p.k_norm_stride);
  // What was there may still be read.
  lanes_barrier();
  for (uint i = lane; i < dim; i += 32) {
    float value = load_value(heads.qkv, kXType, first + i);
    if (has_norm) {
      value = (value - mean) * inverse;
      if (kHasNormWeight) value *= weight[shift + i] + offset;
      if (kHasNormBias) value += bias[shift + i];
    }
    x[i] = value;
  }
  lanes_barrier();
}

/** Element i of a staged head, rotated unless it is a value. */
inline float rotated(const thread Heads& heads, uint part, uint i, THREADGROUP(float) x,
                     constant AttentionPrepareParams& p) {
  const float value = x[i];
  if (kRope == ROPE_NONE || part == PART_VALUE || i < p.rope_start) return value;
  if (i - p.rope_start >= 2 * p.pairs) return value;
  Rotation rotation;
  rotation_of(i - p.rope_start, p.pairs, heads.position, heads.frequencies, p.rope_scale, rotation);
  return value * rotation.cosine + x[p.rope_start + rotation.partner] * rotation.sine;
}

/** Leaves the rotated head where it was staged; by one simdgroup, for itself. */
inline void rotate_staged(const thread Heads& heads, uint part, THREADGROUP(float) x, uint lane,
                          constant AttentionPrepareParams& p) {
  float values[MAX_HEAD_DIM / 32];
  UNROLL for (uint i = 0; i < MAX_HEAD_DIM / 32; i++) {
    if (i * 32 + lane >= p.head_dim) break;
    values[i] = rotated(heads, part, i * 32 + lane, x, p);
  }
  lanes_barrier();
  UNROLL for (uint i = 0; i < MAX_HEAD_DIM / 32; i++) {
    if (i * 32 + lane >= p.head_dim) break;
    x[i * 32 + lane] = values[i];
  }
  lanes_barrier();
}

/** Writes a staged key or value to its place in the pool. */
inline void store_head(const thread Heads& heads, uint part, uint head, uint sequence,
                       DEVICE(const int) block_tables, DEVICE(uchar) pool, THREADGROUP(float) x, uint lane,
                       constant AttentionPrepareParams& p) {
  const ulong row = slot_row(block_tables, p.blocks_per_sequence, sequence, heads.position, p.kv_heads, head);
  for (uint first = 0; first < p.head_dim; first += 32) {
    const uint i = first + lane;
    store_slot(pool, row, p.head_dim, i, i < p.head_dim ? rotated(heads, part, i, x, p) : 0.0f);
  }
}
