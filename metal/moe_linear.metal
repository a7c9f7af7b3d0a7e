/**
 * moe_linear in mode reduce: out = Σ weight of slot * (slot of x · expertᵀ + bias) + weight of the shared
 * expert * shared + residual. Grid: tiles of SETS * kLaneRows outputs, rows; simdgroup s of kSimdgroups takes
 * slots s, s + kSimdgroups, …
 */
#include "experts.h"

KERNEL(moe_reduce, 256)
(BUFFER(const uchar, x, 0), BUFFER(const float, route, 1), BUFFER(const uchar, weight, 2),
 BUFFER(const uchar, scales, 3), BUFFER(const uchar, biases, 4), BUFFER(const float, bias, 5),
 BUFFER(const float, shared, 6), BUFFER(const float, residual, 7), BUFFER(uchar, out, 8),
 PARAMS(ExpertsParams, p, 9), GRID) {
  // Up to 8 simdgroups.
  THREADGROUP_ARRAY(float4, staged, 8 * STAGED);
  THREADGROUP_ARRAY(float, parts, 8 * SETS * MAX_LANE_ROWS);
  const uint tile_rows = SETS * kLaneRows;
  const uint row = group.y;
  const uint set = lane / SET_LANES;
  const uint first_output = group.x * tile_rows;
  float sums[MAX_LANE_ROWS];
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) sums[r] = 0.0f;
  const Team alone = {0, 1, 0, 1};
  for (uint slot = simd_index; slot < p.top_k; slot += kSimdgroups) {
    const uint first_row = expert_of(route, row, slot, p) * p.expert_rows;
    const float share = route[row * (2 * p.top_k + 1) + p.top_k + slot];
    Tile tile;
    begin_tile(tile, x, row * p.x_stride + slot * p.columns, weight, scales, biases, p);
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      tile.rows[r] = first_row + min(first_output + set * kLaneRows + r, p.expert_rows - 1);
    }
    sum_rows(tile, alone, lane, staged + simd_index * STAGED);
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      if (kHasBias && lane % SET_LANES == 0) tile.sums[r] += bias[tile.rows[r]];
      sums[r] = fma(share, tile.sums[r], sums[r]);
    }
  }
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    const float sum = set_sum(sums[r]);
    if (lane % SET_LANES == 0) parts[simd_index * tile_rows + set * kLaneRows + r] = sum;
  }
  group_barrier();
  const uint output = first_output + thread_index;
  if (thread_index >= tile_rows || output >= p.expert_rows) return;
  float sum = 0.0f;
  for (uint i = 0; i < kSimdgroups; i++) sum += parts[i * tile_rows + thread_index];
  const uint index = row * p.out_stride + output;
  if (kHasShared) sum += route[row * (2 * p.top_k + 1) + 2 * p.top_k] * shared[index];
  if (kHasResidual) sum += residual[index];
  store_value(out, kOutType, index, sum);
}
