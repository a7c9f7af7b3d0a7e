/**
 * linear and glu for one row of x at a time (matvec.h).
 * Grid: tiles of kSimdgroups / kSplit simdgroups with SETS * kLaneRows rows of the weight each (for a glu
 * half as many outputs), rows of x. Threadgroup memory: STAGED float4 a simdgroup, at most MAX_SIMDGROUPS.
 */
#include "linear.h"
#include "matvec.h"

enum { MAX_SIMDGROUPS = 8, TILE = SETS * MAX_LANE_ROWS };

KERNEL(linear_matvec, 256)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, norm_bias, 5),
 BUFFER(const float, join_weight, 6), BUFFER(const float, join_residual, 7), BUFFER(float, join_sum, 8),
 BUFFER(const float, bias, 9), BUFFER(const float, residual, 10), BUFFER(uchar, out, 11),
 PARAMS(LinearParams, p, 12), THREADGROUP_BUFFER(float4, staged, 0), GRID) {
  THREADGROUP_ARRAY(float, shared, MAX_SIMDGROUPS*(TILE + 1));
  const uint part = simd_index % kSplit;
  const uint row = group.y;
  const uint set = lane / SET_LANES;
  const uint outputs = kIsGlu ? kLaneRows / 2 : kLaneRows;
  const uint first_output = ((group.x * (kSimdgroups / kSplit) + simd_index / kSplit) * SETS + set) * outputs;
  Tile tile;
  tile.x = x;
  tile.first = row * p.x_stride + p.x_column;
  tile.columns = p.columns;
  tile.is_aligned = (p.columns | p.x_stride | p.x_column) % 4 == 0;
  tile.weight = weight;
  tile.scales = scales;
  tile.biases = biases;
  tile.norm_weight = norm_weight;
  tile.norm_bias = norm_bias;
  tile.offset = p.offset;
  tile.join_weight = join_weight;
  tile.join_residual = join_residual + row * p.columns;
  tile.join_sum = join_sum + row * p.columns;
  tile.join_offset = p.join_offset;
  tile.writes_join = group.x == 0;
  tile.squares = 0.0f;
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    // Beyond the last output its row is read again and the sum is dropped.
    const uint output = min(first_output + (kIsGlu ? r / 2 : r), p.outputs - 1);
    tile.rows[r] = gate_row(output, p) + (kIsGlu && r % 2 == 1 ? p.up_offset : 0);
    tile.sums[r] = 0.0f;
  }
  read_statistics(tile, p.eps, p.join_eps, shared, lane, simd_index);
  const Team team = {simd_index / kSplit, kSimdgroups / kSplit, part, kSplit};
  sum_rows(tile, team, lane, staged + part * team.count * STAGED);
  finish_sums(tile);
  if (kSplit > 1 || kNorm == NORM_RMS) {
    const uint pitch = TILE + 1;
    if (kSplit > 1 && lane % SET_LANES == 0) {
      UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
        shared[simd_index * pitch + set * kLaneRows + r] = tile.sums[r];
      }
    }
    if (lane == 0) shared[simd_index * pitch + TILE] = tile.squares;
    group_barrier();
    if (part != 0) return;
    UNROLL_BY_CONSTANT for (uint i = 1; i < kSplit; i++) {
      UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
        tile.sums[r] += shared[(simd_index + i) * pitch + set * kLaneRows + r];
      }
    }
    tile.squares = 0.0f;
    UNROLL_BY_CONSTANT for (uint i = 0; i < kSimdgroups; i++) tile.squares += shared[i * pitch + TILE];
  }
  const float factor = rms_factor(tile, p.eps);
  UNROLL_BY_CONSTANT for (uint r = 0; r < outputs; r++) {
    if (lane % SET_LANES != r) continue;
    const float sum = tile.sums[kIsGlu ? 2 * r : r] * factor;
    const float up = kIsGlu ? tile.sums[2 * r + 1] * factor : 0.0f;
    store_output(sum, up, row, first_output + r, bias, residual, out, p);
  }
}
