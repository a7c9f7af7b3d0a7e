/**
 * Attention of many rows of a sequence over the paged cache (flash attention, Dao et al. 2022) on 8 × 8
 * matrices: a simdgroup keeps 8 rows of queries and of sums in registers and walks over the blocks of keys
 * that they see. Blocks are contiguous matrices in the pool and are read from there as they are, codes of 8
 * bits a word at a time, so no thread waits for another one. Grid: tiles of TILE_QUERIES rows, heads; 4
 * simdgroups.
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

/** A pool of T, read as it is: matrix c of a row of them has columns 8 c … 8 c + 7. */
template <typename T>
struct Plain {
  DEVICE(const T) pool;
};

/**
 * A pool of codes: neighbouring elements of a lane's row of matrices come from one word. Where a group has w
 * times 8 columns, column w k + i of it is row or column k of its matrix i.
 */
template <typename T>
struct Coded {
  DEVICE(const uchar) pool;
  /** The lane's two words of a group, each of up to 4 codes, and their scales. */
  uint codes[2];
  float scales[2];
};

enum { GROUP_MATRICES = CODE_GROUP / 8 };

/** Matrices of the group that has matrix c. */
inline uint matrices_of_group(uint dim, uint c) {
  return min(dim / 8 - c / GROUP_MATRICES * GROUP_MATRICES, uint(GROUP_MATRICES));
}

/** The column of a head that is row or column k of matrix c. */
template <typename T>
inline uint column_of(const thread Plain<T>&, uint, uint c, uint k) {
  return 8 * c + k;
}
template <typename T>
inline uint column_of(const thread Coded<T>&, uint dim, uint c, uint k) {
  return c / GROUP_MATRICES * CODE_GROUP + matrices_of_group(dim, c) * k + c % GROUP_MATRICES;
}

/** Loads word n: of row `row` of the pool the codes in row or column k of the group that begins with matrix
 * c.
 */
template <typename T>
inline void load_word(thread Coded<T>& source, uint n, ulong row, uint dim, uint c, uint k) {
  DEVICE(const uchar) codes = source.pool + codes_of(row, dim) + column_of(source, dim, c, k);
  const uint count = matrices_of_group(dim, c);
  if (count == GROUP_MATRICES) {
    source.codes[n] = AS_DEVICE(const uint, codes)[0];
  } else {
    source.codes[n] = 0;
    UNROLL_BY_CONSTANT for (uint i = 0; i < count; i++) source.codes[n] |= uint(codes[i]) << (8 * i);
  }
  source.scales[n] = scale_of(source.pool, row, dim, 8 * c);
}

template <typename T>
inline void fill_right(const thread Coded<T>& source, uint c, thread simdgroup_matrix<T, 8, 8>& right) {
  UNROLL for (uint n = 0; n < 2; n++) {
    right.thread_elements()[n] = T(code_of(source.codes[n], c % GROUP_MATRICES) * source.scales[n]);
  }
}

/** Matrix c of the keys in rows `row` … `row` + 7, a key a column; c = 0, 1, 2, … by turns. */
template <typename T>
inline void load_keys(thread Plain<T>& source, ulong row, uint c, uint,
                      thread simdgroup_matrix<T, 8, 8>& right) {
  simdgroup_load_transposed(right, source.pool + row * kKeyDim + 8 * c, kKeyDim);
}
template <typename T>
inline void load_keys(thread Coded<T>& source, ulong row, uint c, uint lane,
                      thread simdgroup_matrix<T, 8, 8>& right) {
  if (c % GROUP_MATRICES == 0) {
    UNROLL for (uint n = 0; n < 2; n++) {
      load_word(source, n, row + fragment_column(lane) + n, kKeyDim, c, fragment_row(lane));
    }
  }
  fill_right(source, c, right);
}

/** Matrix c of the values in rows `row` … `row` + 7, a value a row; c = 0, 1, 2, … by turns. */
template <typename T>
inline void load_values(thread Plain<T>& source, ulong row, uint c, uint,
                        thread simdgroup_matrix<T, 8, 8>& right) {
  simdgroup_load(right, source.pool + row * kValueDim + 8 * c, kValueDim);
}
template <typename T>
inline void load_values(thread Coded<T>& source, ulong row, uint c, uint lane,
                        thread simdgroup_matrix<T, 8, 8>& right) {
  if (c % GROUP_MATRICES == 0) {
    UNROLL for (uint n = 0; n < 2; n++) {
      load_word(source, n, row + fragment_row(lane), kValueDim, c, fragment_column(lane) + n);
    }
  }
  fill_right(source, c, right);
}

template <typename T, typename Pool>
inline void attend_rows(DEVICE(const uchar) q, thread Pool& keys, thread Pool& values,
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
    const uint at = (row * p.heads + head) * kKeyDim;
    UNROLL for (uint e = 0; e < 2; e++) {
      const uint own = column_of(keys, kKeyDim, c, column + e);
      queries[c].thread_elements()[e] = T(load_value(q, kXType, at + own) * p.scale);
    }
  }
  UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) simdgroup_fill(sums[c], 0.0f);
  float highest = LOWEST_SCORE;
  float total = 0.0f;

  // Positions of the rows rise by one, so these bound what any of them sees.
  const uint last_position = uint(positions[min(first_row + 8, end_row) - 1]);
  const uint first_block = first_seen(uint(positions[first_row]), p) / BLOCK_TOKENS;
  for (uint block = first_block; block <= last_position / BLOCK_TOKENS; block++) {
    const ulong first_slot =
        block_row(block_tables, p.blocks_per_sequence, sequence, block * BLOCK_TOKENS, p.kv_heads, kv_head);
    simdgroup_matrix<float, 8, 8> scores[2];
    UNROLL for (uint j = 0; j < 2; j++) {
      simdgroup_fill(scores[j], 0.0f);
      UNROLL_BY_CONSTANT for (uint c = 0; c < kKeyDim / 8; c++) {
        simdgroup_matrix<T, 8, 8> right;
        load_keys(keys, first_slot + 8 * j, c, lane, right);
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
        load_values(values, first_slot + 8 * j, c, lane, right);
        simdgroup_multiply_accumulate(sums[c], left, right, sums[c]);
      }
    }
  }

  const float factor = softmax_factor(highest, row_sum(total), head, sinks);
  if (own_row >= end_row) return;
  UNROLL_BY_CONSTANT for (uint c = 0; c < kValueDim / 8; c++) {
    UNROLL for (uint e = 0; e < 2; e++) {
      const uint own = column_of(values, kValueDim, c, column + e);
      store_attended(sums[c].thread_elements()[e] * factor, row, head, own, gate, out, p);
    }
  }
}

/** In matrices of T; the pool has T or codes. */
template <typename T>
inline void attend_pool(DEVICE(const uchar) q, DEVICE(const uchar) keys, DEVICE(const uchar) values,
                        DEVICE(const int) tiles, DEVICE(const int) positions, DEVICE(const int) block_tables,
                        DEVICE(const float) sinks, DEVICE(const uchar) gate, DEVICE(uchar) out,
                        constant AttentionParams& p, uint3 group, uint lane, uint simd_index) {
  if (kKvType == DTYPE_I8) {
    Coded<T> coded_keys, coded_values;
    coded_keys.pool = keys;
    coded_values.pool = values;
    attend_rows<T>(q, coded_keys, coded_values, tiles, positions, block_tables, sinks, gate, out, p, group,
                   lane, simd_index);
  } else {
    Plain<T> plain_keys, plain_values;
    plain_keys.pool = AS_DEVICE(const T, keys);
    plain_values.pool = AS_DEVICE(const T, values);
    attend_rows<T>(q, plain_keys, plain_values, tiles, positions, block_tables, sinks, gate, out, p, group,
                   lane, simd_index);
  }
}

KERNEL(attention_prefill_f32, 128)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, keys, 1), BUFFER(const uchar, values, 2),
 BUFFER(const int, tiles, 3), BUFFER(const int, positions, 4), BUFFER(const int, block_tables, 5),
 BUFFER(const float, sinks, 6), BUFFER(const uchar, gate, 7), BUFFER(uchar, out, 8),
 PARAMS(AttentionParams, p, 9), GRID) {
  attend_pool<float>(q, keys, values, tiles, positions, block_tables, sinks, gate, out, p, group, lane,
                     simd_index);
}

KERNEL(attention_prefill_f16, 128)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, keys, 1), BUFFER(const uchar, values, 2),
 BUFFER(const int, tiles, 3), BUFFER(const int, positions, 4), BUFFER(const int, block_tables, 5),
 BUFFER(const float, sinks, 6), BUFFER(const uchar, gate, 7), BUFFER(uchar, out, 8),
 PARAMS(AttentionParams, p, 9), GRID) {
  attend_pool<half>(q, keys, values, tiles, positions, block_tables, sinks, gate, out, p, group, lane,
                    simd_index);
}
