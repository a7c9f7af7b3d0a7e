/**
 * Many rows through their experts (prefill): pairs of a row and a slot are sorted by expert, so that each
 * expert's weight is read once for up to 32 of them, in tiles as in tiles.h.
 */
#include "activate.h"
#include "params.h"
#include "tiles.h"

/** Threads of moe_sort: one an expert. */
enum { SORT_THREADS = 512, TILE_WORDS_OF_EXPERT = 4 };

/**
 * order [rows * top_k]: the pairs (row * top_k + slot), expert after expert; tiles [max_tiles, 4]: expert,
 * first place in order, pairs (0: nothing to do), 0. Grid: 1.
 */
KERNEL(moe_sort, SORT_THREADS)
(BUFFER(const float, route, 0), BUFFER(int, order, 1), BUFFER(int, tiles, 2), PARAMS(ExpertsParams, p, 3),
 GRID) {
  THREADGROUP_ARRAY(uint, counts, SORT_THREADS);
  const uint expert = thread_index;
  const uint width = 2 * p.top_k + 1;
  uint count = 0;
  for (uint row = 0; row < p.rows; row++) {
    for (uint slot = 0; slot < p.top_k; slot++) {
      if (uint(route[row * width + slot]) == expert) count++;
    }
  }
  counts[expert] = count;
  group_barrier();
  uint first = 0;
  uint tile = 0;
  uint used = 0;
  for (uint other = 0; other < SORT_THREADS; other++) {
    const uint pairs = counts[other];
    const uint needed = (pairs + TILE_M - 1) / TILE_M;
    if (other < expert) {
      first += pairs;
      tile += needed;
    }
    used += needed;
  }
  uint place = first;
  for (uint row = 0; row < p.rows && place < first + count; row++) {
    for (uint slot = 0; slot < p.top_k; slot++) {
      if (uint(route[row * width + slot]) == expert) order[place++] = int(row * p.top_k + slot);
    }
  }
  for (uint begin = 0; begin < count; begin += TILE_M, tile++) {
    tiles[tile * TILE_WORDS_OF_EXPERT] = int(expert);
    tiles[tile * TILE_WORDS_OF_EXPERT + 1] = int(first + begin);
    tiles[tile * TILE_WORDS_OF_EXPERT + 2] = int(min(count - begin, uint(TILE_M)));
  }
  for (uint rest = used + expert; rest < p.max_tiles; rest += SORT_THREADS) {
    tiles[rest * TILE_WORDS_OF_EXPERT + 2] = 0;
  }
}

template <typename T>
inline void multiply_pairs(DEVICE(const uchar) x, DEVICE(const float) route, DEVICE(const int) order,
                           DEVICE(const int) tiles, DEVICE(const uchar) weight, DEVICE(const uchar) scales,
                           DEVICE(const uchar) biases, DEVICE(const float) bias, DEVICE(uchar) out,
                           constant ExpertsParams& p, THREADGROUP(T) x_tile, THREADGROUP(T) weight_tile,
                           uint3 group, uint thread_index, uint lane, uint simd_index) {
  DEVICE(const int) tile = tiles + group.y * TILE_WORDS_OF_EXPERT;
  const uint count = uint(tile[2]);
  if (count == 0) return;
  const uint first_weight = uint(tile[0]) * p.expert_rows;
  const uint first = uint(tile[1]);
  const uint x_row = staged_x_row(thread_index);
  const uint slot = staged_slot(thread_index);
  const uint output = min(output_of(group.x, slot), p.expert_rows - 1);
  const uint pair = uint(order[first + min(x_row, count - 1)]);
  Stage stage;
  stage.x = x;
  stage.first_x = pair / p.top_k * p.x_stride + (kIsReduce ? pair % p.top_k * p.columns : 0);
  stage.has_x = x_row < count;
  stage.is_aligned = (p.columns | p.x_stride) % 4 == 0;
  stage.weight = weight;
  stage.scales = scales;
  stage.biases = biases;
  stage.weight_row = first_weight + output + (kIsGlu && is_up(slot) ? p.up_offset : 0);
  stage.columns = p.columns;
  simdgroup_matrix<float, 8, 8> sums[2][4];
  sum_tiles<T>(stage, 0, p.columns, x_tile, weight_tile, thread_index, simd_index, sums);

  UNROLL for (uint i = 0; i < 2; i++) {
    const uint own_row = summed_row(simd_index, i, lane);
    const uint own = uint(order[first + min(own_row, count - 1)]);
    UNROLL for (uint j = 0; j < 4; j++) {
      UNROLL for (uint e = 0; e < 2; e++) {
        const uint n = output_of(group.x, summed_slot(simd_index, j, lane) + e);
        if (own_row >= count || n >= p.expert_rows || (kIsGlu && j >= 2)) continue;
        float sum = sums[i][j].thread_elements()[e];
        float up = sums[i][(j + 2) % 4].thread_elements()[e];
        if (kHasBias) {
          sum += bias[first_weight + n];
          if (kIsGlu) up += bias[first_weight + n + p.up_offset];
        }
        if (kIsReduce) {
          const float share = route[own / p.top_k * (2 * p.top_k + 1) + p.top_k + own % p.top_k];
          store_value(out, DTYPE_F32, own * p.expert_rows + n, share * sum);
        } else {
          store_value(out, kOutType, own / p.top_k * p.out_stride + own % p.top_k * p.expert_rows + n,
                      kIsGlu ? gated(sum, up) : sum);
        }
      }
    }
  }
}

/**
 * Grid: tiles of the expert's outputs, max_tiles; 4 simdgroups. kIsReduce: out is float32 [rows * top_k,
 * outputs], each result times its weight in the route, and moe_sum adds them up.
 */
KERNEL(moe_matmul_f32, 128)
(BUFFER(const uchar, x, 0), BUFFER(const float, route, 1), BUFFER(const int, order, 2),
 BUFFER(const int, tiles, 3), BUFFER(const uchar, weight, 4), BUFFER(const uchar, scales, 5),
 BUFFER(const uchar, biases, 6), BUFFER(const float, bias, 7), BUFFER(uchar, out, 8),
 PARAMS(ExpertsParams, p, 9), GRID) {
  THREADGROUP_ARRAY(float, x_tile, TILE_M* PITCH);
  THREADGROUP_ARRAY(float, weight_tile, TILE_N* PITCH);
  multiply_pairs<float>(x, route, order, tiles, weight, scales, biases, bias, out, p, x_tile, weight_tile,
                        group, thread_index, lane, simd_index);
}

KERNEL(moe_matmul_f16, 128)
(BUFFER(const uchar, x, 0), BUFFER(const float, route, 1), BUFFER(const int, order, 2),
 BUFFER(const int, tiles, 3), BUFFER(const uchar, weight, 4), BUFFER(const uchar, scales, 5),
 BUFFER(const uchar, biases, 6), BUFFER(const float, bias, 7), BUFFER(uchar, out, 8),
 PARAMS(ExpertsParams, p, 9), GRID) {
  THREADGROUP_ARRAY(half, x_tile, TILE_M * PITCH);
  THREADGROUP_ARRAY(half, weight_tile, TILE_N * PITCH);
  multiply_pairs<half>(x, route, order, tiles, weight, scales, biases, bias, out, p, x_tile, weight_tile,
                       group, thread_index, lane, simd_index);
}

/** out = Σ slots + weight of the shared expert * shared + residual. Grid: outputs / ELEMENT_THREADS, rows. */
KERNEL(moe_sum, ELEMENT_THREADS)
(BUFFER(const float, products, 0), BUFFER(const float, route, 1), BUFFER(const float, shared, 2),
 BUFFER(const float, residual, 3), BUFFER(uchar, out, 4), PARAMS(ExpertsParams, p, 5), GRID) {
  const uint n = group.x * ELEMENT_THREADS + thread_index;
  const uint row = group.y;
  if (n >= p.expert_rows) return;
  float sum = 0.0f;
  for (uint slot = 0; slot < p.top_k; slot++) sum += products[(row * p.top_k + slot) * p.expert_rows + n];
  const uint index = row * p.out_stride + n;
  if (kHasShared) sum += route[row * (2 * p.top_k + 1) + 2 * p.top_k] * shared[index];
  if (kHasResidual) sum += residual[index];
  store_value(out, kOutType, index, sum);
}
