/**
 * The key/value pool: per layer [blocks, kv_heads] of a head's [BLOCK_TOKENS, dim], so that a block of one
 * head is a contiguous matrix. Of DTYPE_I8 it has codes, and behind them a head has float32 scales
 * [BLOCK_TOKENS, groups of CODE_GROUP columns]: an element is code * scale. A scale is one token's own, so
 * that no token changes what another one left.
 */
#pragma once

#include "msl.h"
#include "params.h"
#include "values.h"

/** Rows of the pool, of any type, count all heads' tokens: a block of one head is BLOCK_TOKENS of them. The
 * first one of the block that holds `position` of a sequence. */
inline ulong block_row(DEVICE(const int) block_tables, uint blocks_per_sequence, uint sequence, uint position,
                       uint kv_heads, uint head) {
  const int block = block_tables[sequence * blocks_per_sequence + position / BLOCK_TOKENS];
  return (ulong(block) * kv_heads + head) * BLOCK_TOKENS;
}

/** The row of a position's key or value. */
inline ulong slot_row(DEVICE(const int) block_tables, uint blocks_per_sequence, uint sequence, uint position,
                      uint kv_heads, uint head) {
  return block_row(block_tables, blocks_per_sequence, sequence, position, kv_heads, head) +
         position % BLOCK_TOKENS;
}

/** Of DTYPE_I8: where the codes and the scales of a row begin. */
inline ulong codes_of(ulong row, uint dim) {
  return row * dim + row / BLOCK_TOKENS * (BLOCK_TOKENS * code_groups(dim) * 4);
}
inline ulong scales_of(ulong row, uint dim) {
  return (row / BLOCK_TOKENS + 1) * (BLOCK_TOKENS * dim) + row * (code_groups(dim) * 4);
}
inline float scale_of(DEVICE(const uchar) pool, ulong row, uint dim, uint column) {
  return AS_DEVICE(const float, pool + scales_of(row, dim))[column / CODE_GROUP];
}
/** Code `i` of four. */
inline float code_of(uint word, uint i) {
  return float(int(word << (24 - 8 * i)) >> 24);
}

/** Elements column … column + 7 of a row, column being a multiple of 8. */
inline void load_slots8(DEVICE(const uchar) pool, ulong row, uint dim, uint column, thread float* values) {
  if (kKvType != DTYPE_I8) {
    load_values8(pool + row * (dim * (kKvType == DTYPE_F32 ? 4 : 2)), kKvType, column, values);
    return;
  }
  const uint2 codes = AS_DEVICE(const uint2, pool + codes_of(row, dim))[column / 8];
  const float scale = scale_of(pool, row, dim, column);
  UNROLL for (uint i = 0; i < 4; i++) {
    values[i] = code_of(codes.x, i) * scale;
    values[4 + i] = code_of(codes.y, i) * scale;
  }
}

/**
 * Writes element `i` of a row; the lanes of a simdgroup call it with i = a multiple of 32 + lane, and those
 * with i >= dim write nothing. What the matrix kernels take as a half saturates: an infinity would spoil
 * every sum that its block takes part in.
 */
inline void store_slot(DEVICE(uchar) pool, ulong row, uint dim, uint i, float value) {
  const float kept = kKvType == DTYPE_F32 ? value : clamp(value, -65504.0f, 65504.0f);
  if (kKvType == DTYPE_I8) {
    // As native/cpu/shared/kv_store.h rounds.
    const float largest = simd_max(i < dim ? fabs(kept) : 0.0f);
    const float inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
    if (i >= dim) return;
    pool[codes_of(row, dim) + i] = uchar(int(round_to_even(kept * inverse)));
    if (i % CODE_GROUP == 0) {
      AS_DEVICE(float, pool + scales_of(row, dim))[i / CODE_GROUP] = largest / 127.0f;
    }
    return;
  }
  if (i < dim) store_value(pool + row * (dim * (kKvType == DTYPE_F32 ? 4 : 2)), kKvType, i, kept);
}
