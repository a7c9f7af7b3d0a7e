/**
 * A tile of a matrix product by four simdgroups: 32 rows of x times 64 rows of a weight, 64 columns at a time
 * through threadgroup memory in float or half; sums in float. The 64 slots of a glu are 16 gates, their ups,
 * 16 gates, their ups.
 */
#pragma once

#include "unpack.h"

enum { TILE_M = 32, TILE_N = 64, TILE_K = 64, PITCH = TILE_K + 8 };

/** The output of slot 0 … 63 of a tile. */
inline uint output_of(uint tile, uint slot) {
  return kIsGlu ? tile * (TILE_N / 2) + slot / 32 * 16 + slot % 16 : tile * TILE_N + slot;
}
inline bool is_up(uint slot) {
  return slot % 32 >= 16;
}

// A thread stages 16 columns of a row of x and 32 columns of a slot's row of the weight.
inline uint staged_x_row(uint thread_index) {
  return thread_index / 4;
}
inline uint staged_slot(uint thread_index) {
  return thread_index / 2;
}

// A simdgroup sums 16 rows by 32 slots; a lane holds two neighbouring slots of each 8 × 8 matrix.
inline uint summed_row(uint simd_index, uint i, uint lane) {
  return simd_index / 2 * 16 + 8 * i + fragment_row(lane);
}
inline uint summed_slot(uint simd_index, uint j, uint lane) {
  return simd_index % 2 * 32 + 8 * j + fragment_column(lane);
}

/** What one thread brings to threadgroup memory. */
struct Stage {
  DEVICE(const uchar) x;
  /** First element of the thread's row of x. */
  uint first_x;
  bool has_x;
  bool is_aligned;
  DEVICE(const uchar) weight;
  DEVICE(const uchar) scales;
  DEVICE(const uchar) biases;
  uint weight_row;
  uint columns;
};

/** Sums over columns [begin, end). */
template <typename T>
inline void sum_tiles(thread Stage& stage, uint begin, uint end, THREADGROUP(T) x_tile,
                      THREADGROUP(T) weight_tile, uint thread_index, uint simd_index,
                      thread simdgroup_matrix<float, 8, 8> (&sums)[2][4]) {
  const uint x_row = staged_x_row(thread_index);
  const uint x_column = thread_index % 4 * 16;
  const uint slot = staged_slot(thread_index);
  const uint weight_column = thread_index % 2 * 32;
  const uint m = simd_index / 2 * 16;
  const uint n = simd_index % 2 * 32;
  UNROLL for (uint i = 0; i < 2; i++) {
    UNROLL for (uint j = 0; j < 4; j++) simdgroup_fill(sums[i][j], 0.0f);
  }
  for (uint block = begin; block < end; block += TILE_K) {
    float values[32];
    const uint column = block + x_column;
    const bool has_x = stage.has_x && column < end;
    load_dense_run(stage.x, kXType, has_x ? stage.first_x + column : 0, has_x ? end - column : 0,
                   stage.is_aligned, 16, values);
    group_barrier();
    UNROLL for (uint i = 0; i < 16; i++) x_tile[x_row * PITCH + x_column + i] = T(values[i]);
    load_weight_run(stage.weight, stage.scales, stage.biases, stage.weight_row, block + weight_column,
                    stage.columns, values);
    UNROLL for (uint i = 0; i < 32; i++) weight_tile[slot * PITCH + weight_column + i] = T(values[i]);
    group_barrier();
    UNROLL for (uint k = 0; k < TILE_K; k += 8) {
      simdgroup_matrix<T, 8, 8> left[2], right[4];
      UNROLL for (uint i = 0; i < 2; i++) simdgroup_load(left[i], x_tile + (m + 8 * i) * PITCH + k, PITCH);
      UNROLL for (uint j = 0; j < 4; j++) {
        simdgroup_load_transposed(right[j], weight_tile + (n + 8 * j) * PITCH + k, PITCH);
      }
      UNROLL for (uint i = 0; i < 2; i++) {
        UNROLL for (uint j = 0; j < 4; j++) {
          simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
        }
      }
    }
  }
}
