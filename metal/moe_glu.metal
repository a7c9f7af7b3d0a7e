/**
 * moe_glu, and moe_linear in mode expand: every slot of a row through its expert, by matrix-vector sums.
 * Grid: tiles of SETS * kLaneRows rows of an expert (for a glu half as many outputs) / kSimdgroups, slots,
 * rows.
 */
#include "experts.h"

KERNEL(moe_expand, 256)
(BUFFER(const uchar, x, 0), BUFFER(const float, route, 1), BUFFER(const uchar, weight, 2),
 BUFFER(const uchar, scales, 3), BUFFER(const uchar, biases, 4), BUFFER(const float, norm_weight, 5),
 BUFFER(const float, norm_bias, 6), BUFFER(const float, bias, 7), BUFFER(uchar, out, 8),
 PARAMS(ExpertsParams, p, 9), GRID) {
  // Up to 8 simdgroups.
  THREADGROUP_ARRAY(float4, staged, 8 * STAGED);
  THREADGROUP_ARRAY(float, scratch, 8);
  const uint outputs = kIsGlu ? kLaneRows / 2 : kLaneRows;
  const uint first_output = ((group.x * kSimdgroups + simd_index) * SETS + lane / SET_LANES) * outputs;
  const uint slot = group.y;
  const uint row = group.z;
  const uint first_row = expert_of(route, row, slot, p) * p.expert_rows;
  Tile tile;
  begin_tile(tile, x, row * p.x_stride, weight, scales, biases, p);
  tile.norm_weight = norm_weight;
  tile.norm_bias = norm_bias;
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    const uint output = min(first_output + (kIsGlu ? r / 2 : r), p.expert_rows - 1);
    tile.rows[r] = first_row + output + (kIsGlu && r % 2 == 1 ? p.up_offset : 0);
  }
  read_statistics(tile, p.eps, 0.0f, scratch, lane, simd_index);
  const Team team = {simd_index, kSimdgroups, 0, 1};
  sum_rows(tile, team, lane, staged);
  finish_sums(tile);
  if (kNorm == NORM_RMS) {
    if (lane == 0) scratch[simd_index] = tile.squares;
    group_barrier();
    tile.squares = 0.0f;
    UNROLL_BY_CONSTANT for (uint i = 0; i < kSimdgroups; i++) tile.squares += scratch[i];
  }
  const float factor = rms_factor(tile, p.eps);
  UNROLL_BY_CONSTANT for (uint r = 0; r < outputs; r++) {
    const uint output = first_output + r;
    if (lane % SET_LANES != r || output >= p.expert_rows) continue;
    float sum = tile.sums[kIsGlu ? 2 * r : r] * factor;
    float up = kIsGlu ? tile.sums[2 * r + 1] * factor : 0.0f;
    if (kHasBias) {
      sum += bias[first_row + output];
      if (kIsGlu) up += bias[first_row + output + p.up_offset];
    }
    store_value(out, kOutType, row * p.out_stride + slot * p.expert_rows + output,
                kIsGlu ? gated(sum, up) : sum);
  }
}
