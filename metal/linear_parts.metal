/**
 * linear_halves where the weight is small: simdgroups that share no x and wait for no other. Each takes every
 * kSimdgroups-th pair of units for all rows of the weight of its threadgroup; the words of the next pairs and
 * the next x are on their way.
 *
 * Columns are a multiple of two units, and rows of x begin at multiples of 16 bytes.
 *
 * Grid: tiles of 8 * kLaneRows outputs, rows of x / 8. 2 * kLaneRows simdgroups at least.
 * Threadgroup memory: for each simdgroup PART_SLOTS uint4, or what its sums need: kLaneRows * 64 + ROWS
 * floats.
 */
#include "halves.h"

enum {
  /** x of a unit, and what the sums of it need. */
  PART_SLOTS = UNIT_SLOTS + 2 * ROWS / 4,
  PAIR = 2 * UNIT
};

inline uint pair_step() {
  return kSimdgroups * PAIR;
}

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

/** What simdgroup 2 t + i ends: element i of tile t. */
struct Ending {
  bool has_output;
  /** Row of x, counted from the threadgroup's first one. */
  uint m;
  uint index;
  float bias;
  float residual;
};
inline void find_ending(thread Ending& ending, uint first_row, uint first_output, uint lane, uint simd_index,
                        DEVICE(const float) bias, DEVICE(const float) residual, constant LinearParams& p) {
  const uint t = simd_index / 2;
  const uint output = first_output + t * 8 + fragment_row(lane);
  ending.m = fragment_column(lane) + simd_index % 2;
  ending.has_output = t < kLaneRows && first_row + ending.m < p.rows && output < p.outputs;
  ending.index = (first_row + ending.m) * p.out_stride + p.out_column + output;
  ending.residual = kHasResidual && ending.has_output ? residual[ending.index] : 0.0f;
  ending.bias = kHasBias && ending.has_output ? bias[output] : 0.0f;
}

/** Leaves the simdgroup's sums in `shared`, behind the barrier that all are done with what lies there. */
inline void share_parts(thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES], uint lane, uint simd_index,
                        THREADGROUP(float) shared) {
  group_barrier();
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    UNROLL for (uint i = 0; i < 2; i++) {
      shared[((simd_index * kLaneRows + t) * 2 + i) * 32 + lane] = sums[t].thread_elements()[i];
    }
  }
}

inline void end_parts(const thread Ending& ending, float inverse, uint lane, uint simd_index,
                      THREADGROUP(float) shared, DEVICE(uchar) out, constant LinearParams& p) {
  float sum = 0.0f;
  UNROLL_BY_CONSTANT for (uint s = 0; s < kSimdgroups; s++) {
    sum += shared[(s * kLaneRows * 2 + simd_index) * 32 + lane];
  }
  sum = fma(sum, inverse, ending.bias);
  store_value(out, kOutType, ending.index, activate(sum * p.factor) + ending.residual);
}

/** x are halves that no norm changes. */
KERNEL(linear_parts, 512)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, bias, 4), BUFFER(const float, residual, 5),
 BUFFER(uchar, out, 6), PARAMS(LinearParams, p, 7), THREADGROUP_BUFFER(uint4, staged, 0), GRID) {
  const uint first_row = group.y * ROWS;
  const uint first_output = group.x * kLaneRows * 8;
  THREADGROUP(uint4) panel = staged + simd_index * PART_SLOTS;
  THREADGROUP(float) totals = AS_THREADGROUP(float, panel + UNIT_SLOTS);

  Rows rows;
  simdgroup_matrix<float, 8, 8> sums[MAX_TILES];
  const bool has_row = first_row + lane / 4 < p.rows;
  const uint first_x = (first_row + lane / 4) * p.x_stride + p.x_column + lane % 4 * HALF_RUN;
  PairX pair;
  load_pair_x(x, first_x + simd_index * PAIR, has_row && simd_index * PAIR < p.columns, pair);
  begin_rows(rows, sums, weight, scales, biases, first_output, lane, p);
  uint k = simd_index * PAIR;
  Codes codes[2];
  UNROLL for (uint b = 0; b < 2; b++) {
    const uint own = k + b * pair_step();
    if (own < p.columns) load_codes(rows, own, lane, codes[b]);
  }

  while (k < p.columns) {
    UNROLL for (uint b = 0; b < 2; b++) {
      if (k >= p.columns) break;
      const uint next = k + pair_step();
      UNROLL for (uint u = 0; u < 2; u++) {
        lanes_barrier();
        store_unit(pair, u, lane, panel, totals);
        lanes_barrier();
        if (u == 1) load_pair_x(x, first_x + next, has_row && next < p.columns, pair);
        multiply_unit(codes[b], u, panel, totals, lane, sums);
      }
      if (next + pair_step() < p.columns) load_codes(rows, next + pair_step(), lane, codes[b]);
      k = next;
    }
  }

  Ending ending;
  find_ending(ending, first_row, first_output, lane, simd_index, bias, residual, p);
  THREADGROUP(float) shared = AS_THREADGROUP(float, staged);
  share_parts(sums, lane, simd_index, shared);
  group_barrier();
  if (ending.has_output) end_parts(ending, 1.0f, lane, simd_index, shared, out, p);
}

/** x are normed, or floats. */
KERNEL(linear_parts_normed, 512)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, bias, 5),
 BUFFER(const float, residual, 6), BUFFER(uchar, out, 7), PARAMS(LinearParams, p, 8),
 THREADGROUP_BUFFER(uint4, staged, 0), GRID) {
  const uint first_row = group.y * ROWS;
  const uint first_output = group.x * kLaneRows * 8;
  THREADGROUP(uint4) panel = staged + simd_index * PART_SLOTS;
  THREADGROUP(float) totals = AS_THREADGROUP(float, panel + UNIT_SLOTS);

  Rows rows;
  simdgroup_matrix<float, 8, 8> sums[MAX_TILES];
  begin_rows(rows, sums, weight, scales, biases, first_output, lane, p);
  uint k = simd_index * PAIR;
  Codes codes;
  if (k < p.columns) load_codes(rows, k, lane, codes);
  Panels panels;
  panels.x = x;
  panels.norm_weight = norm_weight;
  panels.columns = p.columns;
  panels.first = (first_row + lane / 4) * p.x_stride + p.x_column;
  panels.has_row = first_row + lane / 4 < p.rows;
  panels.offset = p.offset;
  panels.squares = 0.0f;
  const uint own_column = lane % 4 * HALF_RUN;
  load_panel(panels, k + own_column);

  while (k < p.columns) {
    const uint next = k + pair_step();
    UNROLL for (uint u = 0; u < 2; u++) {
      lanes_barrier();
      store_panel(panels, lane, panel, totals);
      lanes_barrier();
      load_panel(panels, (u == 0 ? k + UNIT : next) + own_column);
      multiply_unit(codes, u, panel, totals, lane, sums);
    }
    if (next < p.columns) load_codes(rows, next, lane, codes);
    k = next;
  }

  Ending ending;
  find_ending(ending, first_row, first_output, lane, simd_index, bias, residual, p);
  THREADGROUP(float) shared = AS_THREADGROUP(float, staged);
  share_parts(sums, lane, simd_index, shared);
  THREADGROUP(float) all_squares = shared + kSimdgroups * kLaneRows * 64;
  if (kNorm == NORM_RMS) {
    float squares = panels.squares + simd_shuffle_xor(panels.squares, 1);
    squares += simd_shuffle_xor(squares, 2);
    if (lane % 4 == 0) all_squares[simd_index * ROWS + lane / 4] = squares;
  }
  group_barrier();
  if (!ending.has_output) return;
  float inverse = 1.0f;
  if (kNorm == NORM_RMS) {
    float sum = 0.0f;
    UNROLL_BY_CONSTANT for (uint s = 0; s < kSimdgroups; s++) sum += all_squares[s * ROWS + ending.m];
    inverse = rsqrt(sum / float(p.columns) + p.eps);
  }
  end_parts(ending, inverse, lane, simd_index, shared, out, p);
}
