/**
 * linear and glu for 2 to 8 rows of x at once (speculation, a few users) on 8 × 8 simdgroup matrices: weights
 * are unpacked straight into the matrices' registers. out[n, m] = Σ_k w[n, k] * x[m, k].
 *
 * A simdgroup sums kLaneRows tiles of 8 rows of the weight, for a glu every other one of ups. A sum has no
 * order, so column c of a matrix need not be column c of the weight: in 8 products over a unit of 64 columns,
 * the lane that holds columns 2c and 2c + 1 of a row takes its 16 numbers from 16 c on, two a product. Where
 * a unit lies in one group, the matrices hold the packed integers, and scale and bias act on the unit's sums.
 *
 * Grid: tiles of kSimdgroups / kSplit simdgroups, rows of x / 8. Simdgroups of part s of kSplit take every
 * kSplit-th unit and stage its x together. Threadgroup memory: see BatchShape of native/metal/linear_plan.h.
 */
#include "batch.h"

/** x of a unit for one thread, normalised but for what the epilogue does. */
inline void load_x(thread Staging& staging, uint column, uint columns) {
  const uint k = column + staging.first;
  const uint count = staging.has_row && k < columns ? columns - k : 0;
  thread float* values = staging.values;
  load_dense_run(staging.x, kXType, staging.first_x + k, count, staging.is_aligned, own_count(), values);
  float total = 0.0f;
  if (kNorm == NORM_RMS) {
    float weights[HALF_RUN];
    if (kHasNormWeight) {
      load_dense_run(AS_DEVICE(const uchar, staging.norm_weight), DTYPE_F32, k, count, columns % 4 == 0,
                     own_count(), weights);
    }
    UNROLL_BY_CONSTANT for (uint i = 0; i < own_count(); i++) {
      staging.squares = fma(values[i], values[i], staging.squares);
      if (kHasNormWeight) values[i] *= weights[i] + staging.offset;
    }
  }
  UNROLL_BY_CONSTANT for (uint i = 0; i < own_count(); i++) total += values[i];
  staging.total = total;
}

/** Multiplies two neighbouring tiles: integers to `products`, whole weights to `sums`. */
inline void multiply_pair(uint t, thread simdgroup_matrix<float, 8, 8> (&left)[2],
                          thread simdgroup_matrix<float, 8, 8>& right,
                          thread simdgroup_matrix<float, 8, 8> (&products)[MAX_TILES],
                          thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES]) {
  if (has_integers()) {
    multiply_integers(products[t], products[t + 1], left[0], left[1], right);
  } else {
    simdgroup_multiply_accumulate(sums[t], left[0], right, sums[t]);
    simdgroup_multiply_accumulate(sums[t + 1], left[1], right, sums[t + 1]);
  }
}

/** The sums of one unit from threadgroup memory. */
template <typename Numbers>
inline void sum_unit(const thread Numbers& numbers, THREADGROUP(float) staged, THREADGROUP(float) totals,
                     uint lane, thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES]) {
  simdgroup_matrix<float, 8, 8> products[MAX_TILES];
  if (has_integers()) {
    UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) simdgroup_fill(products[t], 0.0f);
  }
  UNROLL for (uint product = 0; product < PRODUCTS; product++) {
    simdgroup_matrix<float, 8, 8> right;
    simdgroup_load_transposed(right, staged + product * 64, 8);
    UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t += 2) {
      simdgroup_matrix<float, 8, 8> left[2];
      UNROLL for (uint j = 0; j < 2; j++) fill_left(numbers, t + j, product, left[j]);
      multiply_pair(t, left, right, products, sums);
    }
  }
  if (!has_integers()) return;
  float sums_of_x[2];
  UNROLL for (uint i = 0; i < 2; i++) {
    sums_of_x[i] = 0.0f;
    UNROLL_BY_CONSTANT for (uint j = 0; j < kSimdgroups / kSplit; j++) {
      sums_of_x[i] += totals[j * ROWS + fragment_column(lane) + i];
    }
  }
  add_scaled(numbers, sums_of_x, products, sums);
}

/** Sums every kSplit-th unit; `staged` has the part's STAGED floats, `totals` ROWS of each of its simdgroups.
 */
template <typename Numbers>
inline void sum_units(const thread Lane& own, thread Staging& staging,
                      thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES], uint part, uint lane,
                      uint member, THREADGROUP(float) staged, THREADGROUP(float) totals) {
  const uint stride = kSplit * UNIT;
  Numbers next;
  load_numbers(own, part * UNIT, next);
  load_x(staging, part * UNIT + lane % 4 * HALF_RUN, own.columns);
  // All parts go equally often through the barriers.
  for (uint first = 0; first < own.columns; first += stride) {
    const Numbers numbers = next;
    group_barrier();
    store_staged(staging.values, staging.first, numbers, lane, staged);
    float total = staging.total;
    total += simd_shuffle_xor(total, 1);
    total += simd_shuffle_xor(total, 2);
    if (lane % 4 == 0) totals[member * ROWS + lane / 4] = total;
    group_barrier();
    const uint following = first + stride + part * UNIT;
    load_numbers(own, following, next);
    load_x(staging, following + lane % 4 * HALF_RUN, own.columns);
    sum_unit(numbers, staged, totals, lane, sums);
  }
}

inline void sum_weight(const thread Lane& own, thread Staging& staging,
                       thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES], uint part, uint lane,
                       uint member, THREADGROUP(float) staged, THREADGROUP(float) totals) {
  if (kWeightType != DTYPE_AFFINE) {
    return sum_units<Dense>(own, staging, sums, part, lane, member, staged, totals);
  }
  switch (kBits) {
    case 2:
      return sum_units<Packed<2>>(own, staging, sums, part, lane, member, staged, totals);
    case 3:
      return sum_units<Packed<3>>(own, staging, sums, part, lane, member, staged, totals);
    case 4:
      return sum_units<Packed<4>>(own, staging, sums, part, lane, member, staged, totals);
    case 5:
      return sum_units<Packed<5>>(own, staging, sums, part, lane, member, staged, totals);
    case 6:
      return sum_units<Packed<6>>(own, staging, sums, part, lane, member, staged, totals);
    case 8:
      return sum_units<Packed<8>>(own, staging, sums, part, lane, member, staged, totals);
  }
}

KERNEL(linear_batch, 256)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, bias, 5),
 BUFFER(const float, residual, 6), BUFFER(uchar, out, 7), PARAMS(LinearParams, p, 8),
 THREADGROUP_BUFFER(float, shared, 0), GRID) {
  const uint members = kSimdgroups / kSplit;
  const uint part = simd_index / members;
  const uint member = simd_index % members;
  const uint first_row = group.y * ROWS;
  const uint tile_outputs = kIsGlu ? 4 : 8;
  const uint first_output = (group.x * members + member) * kLaneRows * tile_outputs;

  Lane own;
  simdgroup_matrix<float, 8, 8> sums[MAX_TILES];
  begin_tiles(own, sums, weight, scales, biases, first_output, lane, p);
  Staging staging;
  staging.x = x;
  staging.norm_weight = norm_weight;
  const uint staged_row = lane / 4;
  staging.has_row = first_row + staged_row < p.rows;
  staging.first_x = (first_row + staged_row) * p.x_stride + p.x_column;
  staging.is_aligned = (p.columns | p.x_stride | p.x_column) % 4 == 0;
  staging.first = member * own_count();
  staging.offset = p.offset;
  staging.squares = 0.0f;
  THREADGROUP(float) totals = shared + kSplit * STAGED;
  sum_weight(own, staging, sums, part, lane, member, shared + part * STAGED, totals + part * members * ROWS);

  // The squares of each row of x, and the parts together.
  group_barrier();
  if (kNorm == NORM_RMS) {
    float squares = staging.squares + simd_shuffle_xor(staging.squares, 1);
    squares += simd_shuffle_xor(squares, 2);
    if (lane % 4 == 0) shared[simd_index * ROWS + staged_row] = squares;
  }
  add_parts(sums, part, simd_index, lane, shared + kSimdgroups * ROWS);
  if (part != 0) return;
  finish_tiles(sums, shared, first_row, first_output, lane, bias, residual, out, p);
}
