/**
 * The key/value pool: per layer [blocks, kv_heads, BLOCK_TOKENS, dim], so that a block of one head is a
 * contiguous matrix.
 */
#pragma once

#include "msl.h"
#include "params.h"
#include "values.h"

/** First element of a head's [BLOCK_TOKENS, dim] in the block that holds `position` of a sequence. */
inline ulong block_offset(DEVICE(const int) block_tables, uint blocks_per_sequence, uint sequence,
                          uint position, uint kv_heads, uint head, uint dim) {
  const int block = block_tables[sequence * blocks_per_sequence + position / BLOCK_TOKENS];
  return (ulong(block) * kv_heads + head) * (BLOCK_TOKENS * dim);
}

/** First element of a position's key or value. */
inline ulong slot_offset(DEVICE(const int) block_tables, uint blocks_per_sequence, uint sequence,
                         uint position, uint kv_heads, uint head, uint dim) {
  return block_offset(block_tables, blocks_per_sequence, sequence, position, kv_heads, head, dim) +
         position % BLOCK_TOKENS * dim;
}

/** Element `i` of a slot. A half saturates: an infinity would spoil every sum that its block takes part in.
 */
inline void store_slot(DEVICE(uchar) pool, ulong slot, uint i, float value) {
  const uint bytes = kKvType == DTYPE_F32 ? 4 : 2;
  store_value(pool + slot * bytes, kKvType, i,
              kKvType == DTYPE_F32 ? value : clamp(value, -65504.0f, 65504.0f));
}
