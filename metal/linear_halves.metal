/**
 * linear_batch for weights of 4 bits where halves are precise enough: the matrices hold codes less CENTRE and
 * halves of x, sums are floats. out[n, m] = Σ_k w[n, k] * x[m, k].
 *
 * x is what costs, so all simdgroups bring it to threadgroup memory together, panel by panel, a unit each: a
 * panel is stored while others still read the one before, and the numbers of the next one are on their way in
 * registers, like the words of the next two units. Sums of a unit, of each row of x and of whole tiles, are
 * undone of the power of two that fits the unit into halves.
 *
 * Columns are a multiple of two units, and rows of x begin at multiples of 16 bytes.
 *
 * Grid: tiles of kSimdgroups / kSplit simdgroups with 8 * kLaneRows rows of the weight each, rows of x / 8.
 * Part s of kSplit takes every kSplit-th pair of units. Threadgroup memory: see BatchShape of
 * native/metal/linear_plan.h.
 */
#include "halves.h"

KERNEL(linear_halves, 256)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, bias, 5),
 BUFFER(const float, residual, 6), BUFFER(uchar, out, 7), PARAMS(LinearParams, p, 8),
 THREADGROUP_BUFFER(uint4, staged, 0), GRID) {
  const uint members = kSimdgroups / kSplit;
  const uint part = simd_index / members;
  const uint member = simd_index % members;
  const uint first_row = group.y * ROWS;
  const uint first_output = (group.x * members + member) * kLaneRows * (kIsGlu ? 4 : 8);
  // Two panels, then what the sums of each of their units need.
  THREADGROUP(float) totals = AS_THREADGROUP(float, staged + 2 * kSimdgroups * UNIT_SLOTS);

  Rows rows;
  simdgroup_matrix<float, 8, 8> sums[MAX_TILES];
  begin_rows(rows, sums, weight, scales, biases, first_output, lane, p);
  Codes next;
  load_codes(rows, part * 2 * UNIT, lane, next);

  const uint staged_row = lane / 4;
  Panels panels;
  panels.x = x;
  panels.norm_weight = norm_weight;
  panels.columns = p.columns;
  panels.first = (first_row + staged_row) * p.x_stride + p.x_column;
  panels.has_row = first_row + staged_row < p.rows;
  panels.offset = p.offset;
  panels.squares = 0.0f;
  // A lone simdgroup has the units of a pair in two panels, else a panel is a run of units.
  const uint step = members == 1 ? 1 : kSimdgroups;
  const uint own_column = (members == 1 ? 2 * simd_index : simd_index) * UNIT + lane % 4 * HALF_RUN;
  load_panel(panels, own_column);

  for (uint first = 0; first < p.columns; first += 2 * kSimdgroups * UNIT) {
    Codes codes;
    UNROLL_BY_CONSTANT for (uint i = 0; i < 2 * members; i++) {
      const uint panel = i / members;
      if (i % members == 0) {
        store_panel(panels, lane, staged + (panel * kSimdgroups + simd_index) * UNIT_SLOTS,
                    totals + (panel * kSimdgroups + simd_index) * 2 * ROWS);
        load_panel(panels, first + own_column + (panel == 0 ? step : 2 * kSimdgroups) * UNIT);
        group_barrier();
      }
      const uint unit = (i / 2 * kSplit + part) * 2 + i % 2;
      if (i % 2 == 0) {
        codes = next;
        load_codes(rows, first + (unit + 2 * kSplit) * UNIT, lane, next);
      }
      if (first + unit * UNIT >= p.columns) continue;
      const uint slot = panel * kSimdgroups + (members == 1 ? part : unit - panel * kSimdgroups);
      multiply_unit(codes, i % 2, staged + slot * UNIT_SLOTS, totals + slot * 2 * ROWS, lane, sums);
    }
  }

  // The squares of each row of x, and the parts together.
  group_barrier();
  THREADGROUP(float) shared = AS_THREADGROUP(float, staged);
  if (kNorm == NORM_RMS) {
    float squares = panels.squares + simd_shuffle_xor(panels.squares, 1);
    squares += simd_shuffle_xor(squares, 2);
    if (lane % 4 == 0) shared[simd_index * ROWS + staged_row] = squares;
  }
  add_parts(sums, part, simd_index, lane, shared + kSimdgroups * ROWS);
  if (part != 0) return;
  finish_tiles(sums, shared, first_row, first_output, lane, bias, residual, out, p);
}
