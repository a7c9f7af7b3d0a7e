/**
 * linear_halves where x are halves that no norm changes and the weight is small: simdgroups that share no x
 * and wait for no other. Each takes every kSimdgroups-th pair of units for all rows of the weight of its
 * threadgroup; the words of two pairs and x of one are on their way.
 *
 * Columns are a multiple of two units, and rows of x begin at multiples of 16 bytes.
 *
 * Grid: tiles of 8 * kLaneRows outputs, rows of x / 8. 2 * kLaneRows simdgroups at least.
 * Threadgroup memory: PART_SLOTS uint4 a simdgroup, in which the sums of kLaneRows tiles fit too.
 */
#include "halves.h"

enum {
  /** x of a unit and Σ x of its rows. */
  PART_SLOTS = UNIT_SLOTS + 2 * ROWS / 4,
  PAIR = 2 * UNIT
};

/** The lane's 16 numbers of a row of x in each of two units. */
struct PairX {
  uint4 halves[4];
};
inline void load_pair_x(DEVICE(const uchar) x, uint first, bool has_row, thread PairX& pair) {
  UNROLL for (uint i = 0; i < 4; i++) {
    const uint4 zeros = {0, 0, 0, 0};
    pair.halves[i] = zeros;
    if (has_row) pair.halves[i] = AS_DEVICE(const uint4, x)[(first + i / 2 * UNIT) / 8 + i % 2];
  }
}

/** Stores unit `u` of two, and Σ x of each row. */
inline void store_unit(const thread PairX& pair, uint u, uint lane, THREADGROUP(uint4) staged,
                       THREADGROUP(float) totals) {
  float total = 0.0f;
  UNROLL for (uint i = 0; i < 2; i++) {
    total += sum_of(pair.halves[2 * u + i]);
    staged[i * (UNIT_SLOTS / 2) + lane] = right_order(pair.halves[2 * u + i]);
  }
  total += simd_shuffle_xor(total, 1);
  total += simd_shuffle_xor(total, 2);
  if (lane % 4 == 0) totals[lane / 4] = total;
}

KERNEL(linear_parts, 512)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, bias, 4), BUFFER(const float, residual, 5),
 BUFFER(uchar, out, 6), PARAMS(LinearParams, p, 7), THREADGROUP_BUFFER(uint4, staged, 0), GRID) {
  const uint first_row = group.y * ROWS;
  const uint first_output = group.x * kLaneRows * 8;
  const uint step = kSimdgroups * PAIR;
  THREADGROUP(uint4) panel = staged + simd_index * PART_SLOTS;
  THREADGROUP(float) totals = AS_THREADGROUP(float, panel + UNIT_SLOTS);

  Rows rows;
  rows.words = AS_DEVICE(const uint2, weight);
  rows.scales = scales;
  rows.biases = biases;
  rows.columns = p.columns;
  simdgroup_matrix<float, 8, 8> sums[MAX_TILES];
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    const uint row = tile_row(first_output, t, lane, p);
    rows.first_word[t] = row * (p.columns / HALF_RUN);
    rows.first_group[t] = row * (p.columns / kGroupSize);
    simdgroup_fill(sums[t], 0.0f);
  }
  uint k = simd_index * PAIR;
  const bool has_row = first_row + lane / 4 < p.rows;
  const uint first_x = (first_row + lane / 4) * p.x_stride + p.x_column + lane % 4 * HALF_RUN;
  PairX pair;
  load_pair_x(x, first_x + k, has_row && k < p.columns, pair);
  Codes codes[2];
  if (k < p.columns) load_codes(rows, k, lane, codes[0]);
  if (k + step < p.columns) load_codes(rows, k + step, lane, codes[1]);

  while (k < p.columns) {
    UNROLL for (uint b = 0; b < 2; b++) {
      if (k >= p.columns) break;
      UNROLL for (uint u = 0; u < 2; u++) {
        lanes_barrier();
        store_unit(pair, u, lane, panel, totals);
        lanes_barrier();
        if (u == 1) load_pair_x(x, first_x + k + step, has_row && k + step < p.columns, pair);
        multiply_unit(codes[b], u, panel, totals, lane, sums);
      }
      if (k + 2 * step < p.columns) load_codes(rows, k + 2 * step, lane, codes[b]);
      k += step;
    }
  }

  // Simdgroup 2 t + i ends element i of tile t.
  const uint t = simd_index / 2;
  const uint m = first_row + fragment_column(lane) + simd_index % 2;
  const uint output = first_output + t * 8 + fragment_row(lane);
  const bool has_output = t < kLaneRows && m < p.rows && output < p.outputs;
  const uint index = m * p.out_stride + p.out_column + output;
  const float added = kHasResidual && has_output ? residual[index] : 0.0f;
  const float own_bias = kHasBias && has_output ? bias[output] : 0.0f;
  // What others have of x lies where the sums go.
  group_barrier();
  THREADGROUP(float) shared = AS_THREADGROUP(float, staged);
  UNROLL_BY_CONSTANT for (uint tile = 0; tile < kLaneRows; tile++) {
    UNROLL for (uint i = 0; i < 2; i++) {
      shared[((simd_index * kLaneRows + tile) * 2 + i) * 32 + lane] = sums[tile].thread_elements()[i];
    }
  }
  group_barrier();
  if (!has_output) return;
  float sum = own_bias;
  UNROLL_BY_CONSTANT for (uint s = 0; s < kSimdgroups; s++) {
    sum += shared[(s * kLaneRows * 2 + simd_index) * 32 + lane];
  }
  store_value(out, kOutType, index, activate(sum * p.factor) + added);
}
