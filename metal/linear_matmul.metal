/**
 * linear and glu for many rows of x (prefill): tiles of 32 rows of x by 64 rows of the weight (tiles.h); a
 * glu's tile holds the gates and the ups of 32 outputs. Grid: weight tiles, x tiles, parts of the columns; 4
 * simdgroups. With one part the result is written to out, else the sums go to parts [part, rows, weight tiles
 * * 64] and linear_sum finishes.
 */
#include "linear.h"
#include "tiles.h"

/** Columns of the parts of a split product: the slots of all tiles. */
inline uint parts_pitch(uint outputs) {
  const uint tile_outputs = kIsGlu ? TILE_N / 2 : TILE_N;
  return (outputs + tile_outputs - 1) / tile_outputs * TILE_N;
}

template <typename T>
inline void multiply_tiles(DEVICE(const uchar) x, DEVICE(const uchar) weight, DEVICE(const uchar) scales,
                           DEVICE(const uchar) biases, DEVICE(const float) bias, DEVICE(const float) residual,
                           DEVICE(uchar) out, DEVICE(float) parts, constant LinearParams& p,
                           THREADGROUP(T) x_tile, THREADGROUP(T) weight_tile, uint3 group, uint thread_index,
                           uint lane, uint simd_index) {
  const uint columns = p.columns;
  const uint first_row = group.y * TILE_M;
  const uint begin = group.z * p.part_columns;
  const uint end = min(begin + p.part_columns, columns);

  const uint x_row = staged_x_row(thread_index);
  const uint slot = staged_slot(thread_index);
  const uint output = min(output_of(group.x, slot), p.outputs - 1);
  Stage stage;
  stage.x = x;
  stage.first_x = (first_row + x_row) * p.x_stride + p.x_column;
  stage.has_x = first_row + x_row < p.rows;
  stage.is_aligned = (columns | p.x_stride | p.x_column) % 4 == 0;
  stage.weight = weight;
  stage.scales = scales;
  stage.biases = biases;
  stage.weight_row = gate_row(output, p) + (kIsGlu && is_up(slot) ? p.up_offset : 0);
  stage.columns = columns;
  simdgroup_matrix<float, 8, 8> sums[2][4];
  sum_tiles<T>(stage, begin, end, x_tile, weight_tile, thread_index, simd_index, sums);

  const bool is_whole = p.part_columns >= columns;
  const uint pitch = parts_pitch(p.outputs);
  UNROLL for (uint i = 0; i < 2; i++) {
    const uint row = first_row + summed_row(simd_index, i, lane);
    UNROLL for (uint j = 0; j < 4; j++) {
      UNROLL for (uint e = 0; e < 2; e++) {
        const uint own_slot = summed_slot(simd_index, j, lane) + e;
        const float sum = sums[i][j].thread_elements()[e];
        if (!is_whole) {
          if (row < p.rows) parts[(group.z * p.rows + row) * pitch + group.x * TILE_N + own_slot] = sum;
        } else if (!kIsGlu || j < 2) {
          const float up = sums[i][(j + 2) % 4].thread_elements()[e];
          store_output(sum, up, row, output_of(group.x, own_slot), bias, residual, out, p);
        }
      }
    }
  }
}

KERNEL(linear_matmul_f32, 128)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, bias, 4), BUFFER(const float, residual, 5),
 BUFFER(uchar, out, 6), BUFFER(float, parts, 7), PARAMS(LinearParams, p, 8), GRID) {
  THREADGROUP_ARRAY(float, x_tile, TILE_M* PITCH);
  THREADGROUP_ARRAY(float, weight_tile, TILE_N* PITCH);
  multiply_tiles<float>(x, weight, scales, biases, bias, residual, out, parts, p, x_tile, weight_tile, group,
                        thread_index, lane, simd_index);
}

KERNEL(linear_matmul_f16, 128)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, bias, 4), BUFFER(const float, residual, 5),
 BUFFER(uchar, out, 6), BUFFER(float, parts, 7), PARAMS(LinearParams, p, 8), GRID) {
  THREADGROUP_ARRAY(half, x_tile, TILE_M * PITCH);
  THREADGROUP_ARRAY(half, weight_tile, TILE_N * PITCH);
  multiply_tiles<half>(x, weight, scales, biases, bias, residual, out, parts, p, x_tile, weight_tile, group,
                       thread_index, lane, simd_index);
}

/** Adds the parts of a split product and finishes its outputs. Grid: outputs / ELEMENT_THREADS, rows. */
KERNEL(linear_sum, ELEMENT_THREADS)
(BUFFER(const float, parts, 0), BUFFER(const float, bias, 1), BUFFER(const float, residual, 2),
 BUFFER(uchar, out, 3), PARAMS(LinearParams, p, 4), GRID) {
  const uint n = group.x * ELEMENT_THREADS + thread_index;
  const uint row = group.y;
  if (n >= p.outputs) return;
  const uint tile_outputs = kIsGlu ? TILE_N / 2 : TILE_N;
  const uint pitch = parts_pitch(p.outputs);
  const uint slot = kIsGlu ? n % 32 / 16 * 32 + n % 16 : n % TILE_N;
  const uint first = row * pitch + n / tile_outputs * TILE_N + slot;
  float sum = 0.0f;
  float up = 0.0f;
  for (uint k = 0, i = first; k < p.columns; k += p.part_columns, i += p.rows * pitch) {
    sum += parts[i];
    if (kIsGlu) up += parts[i + 16];
  }
  store_output(sum, up, row, n, bias, residual, out, p);
}
