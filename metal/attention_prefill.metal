/**
 * Attention of many rows of a sequence over the paged cache (flash attention, Dao et al. 2022) on 8 × 8
 * matrices: a simdgroup keeps 8 rows of queries and of sums in registers and walks over the blocks of keys
 * that they see. Blocks are contiguous matrices in the pool and are read from there as they are, so no thread
 * waits for another one. Grid: tiles of TILE_QUERIES rows, heads; 4 simdgroups.
 */
#include "attend.h"

enum { MAX_FRAGMENTS = MAX_HEAD_DIM / 8 };

// The lanes that hold a row of a matrix differ in two bits of their number.
inline float row_max(float value) {
  value = max(value, simd_shuffle_xor(value, FRAGMENT_ROW_BIT_0));
  return max(value, simd_shuffle_xor(value, FRAGMENT_ROW_BIT_1));
}
inline float row_sum(float value) {
  value += simd_shuffle_xor(value, FRAGMENT_ROW_BIT_0);
  return value + simd_shuffle_xor(value, FRAGMENT_ROW_BIT_1);
}

template <typename T>
inline void attend_rows(DEVICE(const uchar) q, DEVICE(const T) keys, DEVICE(const T) values,
                        DEVICE(const int) tiles, DEVICE(const int) positions, DEVICE(const int) block_tables,
                        DEVICE(const float) sinks, DEVICE(const uchar) gate, DEVICE(uchar) out,
                        constant AttentionParams& p, uint3 group, uint lane, uint simd_index) {
  const uint first_row = uint(tiles[group.x * TILE_WORDS]) + simd_index * 8;
  const uint end_row = uint(tiles[group.x * TILE_WORDS] + tiles[group.x * TILE_WORDS + 1]);
  const uint sequence = uint(tiles[group.x * TILE_WORDS + 2]);
  if (first_row >= end_row) return;
  const uint head = group.y;
  const uint kv_head = head / (p.heads / p.kv_heads);
  // Rows past the end repeat the last one and are dropped.
  const uint own_row = first_row + fragment_row(lane);
  const uint row = min(own_row, end_row - 1);
  const uint column = fragment_column(lane);
  const uint position = uint(positions[row]);
  const uint first = first_seen(position, p);

  simdgroup_matrix<T, 8, 8> queries[MAX_FRAGMENTS];
  simdgroup_matrix<float, 8, 8> sums[MAX_FRAGMENTS];
  UNROLL_BY_CONSTANT for (uint c = 0; c < kKeyDim / 8; c++) {
    const uint at = (row * p.heads + head) * kKeyDim + 8 * c + column;
    queries[c].thread_elements()[0] = T(load_value(q, kXType, at) * p.scale);
    queries[c].thread_elements()[1] = T(load_value(q, kXType, at + 1) * p.scale);
  }
  UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) simdgroup_fill(sums[c], 0.0f);
  float highest = LOWEST_SCORE;
  float total = 0.0f;

  // Positions of the rows rise by one, so these bound what any of them sees.
  const uint last_position = uint(positions[min(first_row + 8, end_row) - 1]);
  const uint first_block = first_seen(uint(positions[first_row]), p) / BLOCK_TOKENS;
  for (uint block = first_block; block <= last_position / BLOCK_TOKENS; block++) {
    DEVICE(const T)
    key = keys + block_offset(block_tables, p.blocks_per_sequence, sequence, block * BLOCK_TOKENS, p.kv_heads,
                              kv_head, kKeyDim);
    DEVICE(const T)
    value = values + block_offset(block_tables, p.blocks_per_sequence, sequence, block * BLOCK_TOKENS,
                                  p.kv_heads, kv_head, kValueDim);
    simdgroup_matrix<float, 8, 8> scores[2];
    UNROLL for (uint j = 0; j < 2; j++) {
      simdgroup_fill(scores[j], 0.0f);
      UNROLL_BY_CONSTANT for (uint c = 0; c < kKeyDim / 8; c++) {
        simdgroup_matrix<T, 8, 8> right;
        simdgroup_load_transposed(right, key + 8 * j * kKeyDim + 8 * c, kKeyDim);
        simdgroup_multiply_accumulate(scores[j], queries[c], right, scores[j]);
      }
    }

    float block_highest = highest;
    float weights[4];
    UNROLL for (uint i = 0; i < 4; i++) {
      const uint seen = block * BLOCK_TOKENS + i / 2 * 8 + column + i % 2;
      const float score = finish_score(scores[i / 2].thread_elements()[i % 2], p);
      weights[i] = seen >= first && seen <= position ? score : LOWEST_SCORE;
      block_highest = max(block_highest, weights[i]);
    }
    block_highest = row_max(block_highest);
    const float factor = fast::exp(highest - block_highest);
    highest = block_highest;
    total *= factor;
    UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) {
      sums[c].thread_elements()[0] *= factor;
      sums[c].thread_elements()[1] *= factor;
    }
    UNROLL for (uint j = 0; j < 2; j++) {
      simdgroup_matrix<T, 8, 8> left;
      UNROLL for (uint e = 0; e < 2; e++) {
        const float score = weights[2 * j + e];
        const float weight = score > LOWEST_SCORE ? fast::exp(score - highest) : 0.0f;
        total += weight;
        left.thread_elements()[e] = T(weight);
      }
      UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) {
        simdgroup_matrix<T, 8, 8> right;
        simdgroup_load(right, value + 8 * j * kValueDim + 8 * c, kValueDim);
        simdgroup_multiply_accumulate(sums[c], left, right, sums[c]);
      }
    }
  }

  const float factor = softmax_factor(highest, row_sum(total), head, sinks);
  if (own_row >= end_row) return;
  UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) {
    store_attended(sums[c].thread_elements()[0] * factor, row, head, 8 * c + column, gate, out, p);
    store_attended(sums[c].thread_elements()[1] * factor, row, head, 8 * c + column + 1, gate, out, p);
  }
}

KERNEL(attention_prefill_f32, 128)
(BUFFER(const uchar, q, 0), BUFFER(const float, keys, 1), BUFFER(const float, values, 2),
 BUFFER(const int, tiles, 3), BUFFER(const int, positions, 4), BUFFER(const int, block_tables, 5),
 BUFFER(const float, sinks, 6), BUFFER(const uchar, gate, 7), BUFFER(uchar, out, 8),
 PARAMS(AttentionParams, p, 9), GRID) {
  attend_rows<float>(q, keys, values, tiles, positions, block_tables, sinks, gate, out, p, group, lane,
                     simd_index);
}

KERNEL(attention_prefill_f16, 128)
(BUFFER(const uchar, q, 0), BUFFER(const half, keys, 1), BUFFER(const half, values, 2),
 BUFFER(const int, tiles, 3), BUFFER(const int, positions, 4), BUFFER(const int, block_tables, 5),
 BUFFER(const float, sinks, 6), BUFFER(const uchar, gate, 7), BUFFER(uchar, out, 8),
 PARAMS(AttentionParams, p, 9), GRID) {
  attend_rows<half>(q, keys, values, tiles, positions, block_tables, sinks, gate, out, p, group, lane,
                    simd_index);
}
