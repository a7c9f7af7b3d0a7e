/**
 * decode.h with halves on 8 × 8 matrices: a row of a matrix is a query head, so that up to eight heads of a
 * key/value head cost what one costs, and keys and values go from memory into the registers of matrices.
 * Columns of a head stand in an order of their own: column 64 b + 8 k + i is row k (of keys) or column k (of
 * values) of matrix i of block b. A lane then reads 16 bytes at a time.
 */
#pragma once

#include "decode.h"

enum {
  MATRIX_KEYS = 8,
  /** Matrices of a block of keys, which are scored and mixed at once. */
  BLOCK_MATRICES = BLOCK_TOKENS / MATRIX_KEYS,
  BLOCK_DIM = 64,
  /** Vectors of a lane in a row of a key or value, and matrices. */
  MAX_VECTORS = 2,
  MAX_MATRICES = 16
};

/** The highest score of the lane's row, and the lane's part of the total. */
struct RowSum {
  float highest;
  float total;
};

/** The query head of the lane's row; rows beyond the last head repeat it. */
inline uint lane_head(uint lane) {
  return min(fragment_row(lane), kHeadsPerSimdgroup - 1);
}

/** Sets the lane's elements of the queries in columns first … first + 7, first a multiple of 8. */
inline void set_elements(thread simdgroup_matrix<half, 8, 8> (&q)[MAX_MATRICES], uint first, uint i,
                         const thread float* values) {
  UNROLL for (uint e = 0; e < VECTOR; e++) {
    q[first / BLOCK_DIM * 8 + e].thread_elements()[i] = half(values[e]);
  }
}

/** The lane's vectors of the keys or values of a block, as `load_raw8` gives them. */
struct Vectors {
  uint4 of[BLOCK_MATRICES * MAX_VECTORS * 2];
};

/** Eight elements of a row of the pool as they are stored: halves, or codes and their scale. */
inline uint4 load_raw8(DEVICE(const uchar) pool, ulong row, uint dim, uint column) {
  if (kKvType != DTYPE_I8) return AS_DEVICE(const uint4, pool)[(row * dim + column) / VECTOR];
  const uint2 codes = AS_DEVICE(const uint2, pool + codes_of(row, dim))[column / VECTOR];
  const uint4 raw = {codes.x, codes.y, as_type<uint>(scale_of(pool, row, dim, column)), 0};
  return raw;
}
/** The same as halves. */
inline uint4 halves_of(uint4 raw) {
  if (kKvType != DTYPE_I8) return raw;
  const float scale = as_type<float>(raw.z);
  uint two[4];
  UNROLL for (uint i = 0; i < 4; i++) {
    const uint word = i < 2 ? raw.x : raw.y;
    two[i] =
        as_type<uint>(make_half2(code_of(word, i % 2 * 2) * scale, code_of(word, i % 2 * 2 + 1) * scale));
  }
  const uint4 halves = {two[0], two[1], two[2], two[3]};
  return halves;
}

/** Adds a block of keys to the sums, `first` being its first position and `row` its first row in the pool. */
inline void attend_block(thread simdgroup_matrix<half, 8, 8> (&q)[MAX_MATRICES],
                         thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_MATRICES], thread RowSum& row_sum,
                         const thread Reader& reader, uint first, ulong row, uint lane,
                         constant AttentionParams& p) {
  // Keys and values are on their way together.
  Vectors keys, values;
  UNROLL for (uint g = 0; g < BLOCK_MATRICES; g++) {
    UNROLL_BY_CONSTANT for (uint b = 0; b < kKeyDim / BLOCK_DIM; b++) {
      UNROLL for (uint n = 0; n < 2; n++) {
        keys.of[(g * MAX_VECTORS + b) * 2 + n] =
            load_raw8(reader.keys, row + g * MATRIX_KEYS + key_row(lane, n), kKeyDim,
                      b * BLOCK_DIM + key_column(lane, n));
      }
    }
  }
  UNROLL for (uint g = 0; g < BLOCK_MATRICES; g++) {
    UNROLL_BY_CONSTANT for (uint b = 0; b < kValueDim / BLOCK_DIM; b++) {
      UNROLL for (uint n = 0; n < 2; n++) {
        values.of[(g * MAX_VECTORS + b) * 2 + n] =
            load_raw8(reader.values, row + g * MATRIX_KEYS + value_row(lane, n), kValueDim,
                      b * BLOCK_DIM + value_column(lane, n));
      }
    }
  }
  simdgroup_matrix<float, 8, 8> scores[BLOCK_MATRICES];
  UNROLL for (uint g = 0; g < BLOCK_MATRICES; g++) {
    simdgroup_fill(scores[g], 0.0f);
    UNROLL_BY_CONSTANT for (uint b = 0; b < kKeyDim / BLOCK_DIM; b++) {
      simdgroup_matrix<half, 8, 8> rights[8];
      const uint at = (g * MAX_VECTORS + b) * 2;
      zip_rights(halves_of(keys.of[at]), halves_of(keys.of[at + 1]), rights);
      UNROLL for (uint i = 0; i < 8; i += 2) {
        multiply_pair(scores[g], q[b * 8 + i], q[b * 8 + i + 1], rights[i], rights[i + 1]);
      }
    }
  }
  float finished[2 * BLOCK_MATRICES];
  bool is_seen[2 * BLOCK_MATRICES];
  float highest = row_sum.highest;
  UNROLL for (uint n = 0; n < 2 * BLOCK_MATRICES; n++) {
    const uint key = first + n / 2 * MATRIX_KEYS + fragment_column(lane) + n % 2;
    is_seen[n] = key >= reader.first && key <= reader.position;
    const float score = float(scores[n / 2].thread_elements()[n % 2]) * p.scale;
    finished[n] = is_seen[n] ? finish_score(score, p) : LOWEST_SCORE;
    highest = max(highest, finished[n]);
  }
  highest = max(highest, simd_shuffle_xor(highest, FRAGMENT_ROW_BIT_0));
  highest = max(highest, simd_shuffle_xor(highest, FRAGMENT_ROW_BIT_1));
  const float factor = fast::exp(row_sum.highest - highest);
  row_sum.highest = highest;
  row_sum.total *= factor;
  simdgroup_matrix<half, 8, 8> weights[BLOCK_MATRICES];
  UNROLL for (uint n = 0; n < 2 * BLOCK_MATRICES; n++) {
    const float weight = is_seen[n] ? fast::exp(finished[n] - highest) : 0.0f;
    row_sum.total += weight;
    weights[n / 2].thread_elements()[n % 2] = half(weight);
  }
  UNROLL_BY_CONSTANT for (uint b = 0; b < kValueDim / BLOCK_DIM; b++) {
    simdgroup_matrix<half, 8, 8> rights[BLOCK_MATRICES][8];
    UNROLL for (uint g = 0; g < BLOCK_MATRICES; g++) {
      const uint at = (g * MAX_VECTORS + b) * 2;
      zip_rights(halves_of(values.of[at]), halves_of(values.of[at + 1]), rights[g]);
    }
    UNROLL for (uint i = 0; i < 8; i++) {
      sums[b * 8 + i].thread_elements()[0] *= factor;
      sums[b * 8 + i].thread_elements()[1] *= factor;
      multiply_pair(sums[b * 8 + i], weights[0], weights[1], rights[0][i], rights[1][i]);
    }
  }
}

/** Sums over the simdgroup's tiles, and leaves those of its heads in shared memory; `blocks` are those of the
 * first tile. */
inline void attend_in_matrices(thread simdgroup_matrix<half, 8, 8> (&q)[MAX_MATRICES],
                               const thread Reader& reader, const thread Share& share, thread ulong* blocks,
                               uint lane, THREADGROUP(float) shared, constant AttentionParams& p) {
  simdgroup_matrix<float, 8, 8> sums[MAX_MATRICES];
  RowSum row_sum;
  row_sum.highest = LOWEST_SCORE;
  row_sum.total = 0.0f;
  UNROLL_BY_CONSTANT for (uint i = 0; i < kValueDim / 8; i++) simdgroup_fill(sums[i], 0.0f);
  const uint last_tile = reader.position / TILE_KEYS;
  for (uint tile = share.first_tile; tile <= last_tile; tile += share.tile_step) {
    ulong next[TILE_BLOCKS];
    find_blocks(reader, tile + share.tile_step, p, next);
    UNROLL for (uint b = 0; b < TILE_BLOCKS; b++) {
      attend_block(q, sums, row_sum, reader, tile * TILE_KEYS + b * BLOCK_TOKENS, blocks[b], lane, p);
    }
    UNROLL for (uint b = 0; b < TILE_BLOCKS; b++) blocks[b] = next[b];
  }
  // A simdgroup's sums lie where its queries may have been.
  lanes_barrier();
  float total = row_sum.total + simd_shuffle_xor(row_sum.total, FRAGMENT_ROW_BIT_0);
  total += simd_shuffle_xor(total, FRAGMENT_ROW_BIT_1);
  if (fragment_row(lane) >= kHeadsPerSimdgroup) return;
  THREADGROUP(float) target = shared + fragment_row(lane) * (kValueDim + SUMMARY);
  UNROLL_BY_CONSTANT for (uint b = 0; b < kValueDim / BLOCK_DIM; b++) {
    UNROLL for (uint i = 0; i < 2; i++) {
      float own[VECTOR];
      UNROLL for (uint e = 0; e < VECTOR; e++) own[e] = sums[b * 8 + e].thread_elements()[i];
      THREADGROUP(float4)
      four = AS_THREADGROUP(float4, target + b * BLOCK_DIM + (fragment_column(lane) + i) * VECTOR);
      four[0] = make_float4(own[0], own[1], own[2], own[3]);
      four[1] = make_float4(own[4], own[5], own[6], own[7]);
    }
  }
  if (fragment_column(lane) == 0) {
    target[kValueDim] = row_sum.highest;
    target[kValueDim + 1] = total;
  }
}
