/**
 * What linear_halves.metal multiplies: codes of a few rows of a weight as they are stored, and x as
 * halves in panels.
 */
#pragma once

#include "batch.h"

/** The rows of the weight that a lane unpacks: in each, where its words and its groups begin. */
struct Rows {
  DEVICE(const uint2) words;
  DEVICE(const uchar) scales;
  DEVICE(const uchar) biases;
  uint columns;
  uint first_word[MAX_TILES];
  uint first_group[MAX_TILES];
};

/** The lane's rows of the weight, and empty sums. */
inline void begin_rows(thread Rows& rows, thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES],
                       DEVICE(const uchar) weight, DEVICE(const uchar) scales, DEVICE(const uchar) biases,
                       uint first_output, uint lane, constant LinearParams& p) {
  rows.words = AS_DEVICE(const uint2, weight);
  rows.scales = scales;
  rows.biases = biases;
  rows.columns = p.columns;
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    const uint row = tile_row(first_output, t, lane, p);
    rows.first_word[t] = row * (p.columns / HALF_RUN);
    rows.first_group[t] = row * (p.columns / kGroupSize);
    simdgroup_fill(sums[t], 0.0f);
  }
}

/** The lane's 16 codes of each row in two neighbouring units, their scales and biases as they are stored. */
struct Codes {
  uint words[MAX_TILES * 4];
  uint scales[MAX_TILES * 2];
  uint biases[MAX_TILES * 2];
};

/** Scales or biases of two neighbouring units: halves in one word, floats in two. */
inline void load_two(DEVICE(const uchar) data, uint first_group, uint k, thread uint* bits) {
  const uint group = first_group + k / kGroupSize;
  if (kScaleType == DTYPE_F32) {
    bits[0] = AS_DEVICE(const uint, data)[group];
    bits[1] = AS_DEVICE(const uint, data)[group + (kGroupSize == UNIT ? 1 : 0)];
  } else if (kGroupSize == UNIT) {
    bits[0] = AS_DEVICE(const uint, data)[group / 2];
  } else {
    bits[0] = uint(AS_DEVICE(const ushort, data)[group]) * 0x10001u;
  }
}
inline float one_of(const thread uint* bits, uint i) {
  if (kScaleType == DTYPE_F32) return as_type<float>(bits[i]);
  if (kScaleType == DTYPE_BF16) return as_type<float>(i == 0 ? bits[0] << 16 : bits[0] & 0xffff0000u);
  const half2 two = as_type<half2>(bits[0]);
  return i == 0 ? float(two.x) : float(two.y);
}

/** Two units from column `first` on; past the last ones these again. */
inline void load_codes(const thread Rows& rows, uint first, uint lane, thread Codes& codes) {
  const uint k = min(first, rows.columns - 2 * UNIT);
  const uint own = k / HALF_RUN + fragment_column(lane) / 2;
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    const uint2 one = rows.words[rows.first_word[t] + own];
    const uint2 two = rows.words[rows.first_word[t] + own + UNIT / HALF_RUN];
    codes.words[t * 4] = one.x;
    codes.words[t * 4 + 1] = one.y;
    codes.words[t * 4 + 2] = two.x;
    codes.words[t * 4 + 3] = two.y;
  }
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    load_two(rows.scales, rows.first_group[t], k, codes.scales + t * 2);
    load_two(rows.biases, rows.first_group[t], k, codes.biases + t * 2);
  }
}

/** Whether x are halves that need no more than to be copied. */
inline bool is_plain() {
  return kXType == DTYPE_F16 && kNorm == NORM_NONE;
}

/** What one thread brings: 16 columns of one row of x, in every panel of another unit. */
struct Panels {
  DEVICE(const uchar) x;
  DEVICE(const float) norm_weight;
  uint columns;
  uint first;
  bool has_row;
  float offset;
  float squares;
  /** The numbers of the next panel, and what they are multiplied by. */
  uint4 halves[2];
  float values[HALF_RUN];
  float weights[HALF_RUN];
};

inline void load_panel(thread Panels& panels, uint k) {
  const bool is_there = panels.has_row && k < panels.columns;
  if (is_plain()) {
    UNROLL for (uint i = 0; i < 2; i++) {
      const uint4 zeros = {0, 0, 0, 0};
      panels.halves[i] = zeros;
      if (is_there) panels.halves[i] = AS_DEVICE(const uint4, panels.x)[(panels.first + k) / 8 + i];
    }
    return;
  }
  UNROLL for (uint e = 0; e < HALF_RUN; e++) panels.values[e] = 0.0f;
  if (is_there) {
    load_dense_run(panels.x, kXType, panels.first + k, HALF_RUN, true, HALF_RUN, panels.values);
  }
  if (kNorm == NORM_RMS && kHasNormWeight && k < panels.columns) {
    load_dense_run(AS_DEVICE(const uchar, panels.norm_weight), DTYPE_F32, k, HALF_RUN, true, HALF_RUN,
                   panels.weights);
  }
}

/** The sum of eight halves. */
inline float sum_of(uint4 halves) {
  const uint words[4] = {halves.x, halves.y, halves.z, halves.w};
  float sum = 0.0f;
  UNROLL for (uint i = 0; i < 4; i++) {
    const half2 two = as_type<half2>(words[i]);
    sum += float(two.x) + float(two.y);
  }
  return sum;
}

/** Norms what was loaded but for what the epilogue does, as halves; returns what undoes their factor. */
inline float norm_panel(thread Panels& panels) {
  float largest = 0.0f;
  UNROLL for (uint e = 0; e < HALF_RUN; e++) {
    if (kNorm == NORM_RMS) {
      panels.squares = fma(panels.values[e], panels.values[e], panels.squares);
      if (kHasNormWeight) panels.values[e] *= panels.weights[e] + panels.offset;
    }
    largest = max(largest, fabs(panels.values[e]));
  }
  largest = max(largest, simd_shuffle_xor(largest, 1));
  largest = max(largest, simd_shuffle_xor(largest, 2));
  // The largest one becomes 2^12 to 2^13; what is all zeros need not be changed far.
  const uint exponent = max(as_type<uint>(largest) >> 23, 32u);
  const float factor = as_type<float>((254u + 12u - exponent) << 23);
  UNROLL for (uint i = 0; i < 2; i++) {
    uint two[4];
    UNROLL for (uint w = 0; w < 4; w++) {
      two[w] = as_type<uint>(
          make_half2(panels.values[i * 8 + w * 2] * factor, panels.values[i * 8 + w * 2 + 1] * factor));
    }
    panels.halves[i].x = two[0];
    panels.halves[i].y = two[1];
    panels.halves[i].z = two[2];
    panels.halves[i].w = two[3];
  }
  return as_type<float>((exponent - 12u) << 23);
}

/** Stores what was loaded as the simdgroup's unit of a panel; Σ x and what undoes the factor of each row go
 * to `totals`. */
inline void store_panel(thread Panels& panels, uint lane, THREADGROUP(uint4) staged,
                        THREADGROUP(float) totals) {
  float undo = 1.0f;
  float total = 0.0f;
  if (!is_plain()) undo = norm_panel(panels);
  UNROLL for (uint i = 0; i < 2; i++) {
    total += sum_of(panels.halves[i]);
    staged[i * (UNIT_SLOTS / 2) + lane] = right_order(panels.halves[i]);
  }
  total += simd_shuffle_xor(total, 1);
  total += simd_shuffle_xor(total, 2);
  if (lane % 4 != 0) return;
  totals[lane / 4] = total * undo;
  if (!is_plain()) totals[ROWS + lane / 4] = undo;
}

/** Adds the products of unit `u` of two to the sums. */
inline void multiply_unit(const thread Codes& codes, uint u, THREADGROUP(uint4) staged,
                          THREADGROUP(float) totals, uint lane,
                          thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES]) {
  simdgroup_matrix<float, 8, 8> products[MAX_TILES];
  UNROLL_BY_CONSTANT for (uint t = 0; t < (kLaneRows + 1) / 2 * 2; t++) simdgroup_fill(products[t], 0.0f);
  UNROLL for (uint word = 0; word < 2; word++) {
    simdgroup_matrix<half, 8, 8> rights[4];
    load_rights(staged + word * (UNIT_SLOTS / 2), lane, rights);
    UNROLL for (uint j = 0; j < 4; j += 2) {
      UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t += 2) {
        simdgroup_matrix<half, 8, 8> left[4];
        UNROLL for (uint i = 0; i < 4; i++) {
          // A last tile without a second one is multiplied twice.
          const uint tile = min(t + i % 2, kLaneRows - 1);
          const half2 two = centred_pair(codes.words[tile * 4 + u * 2 + word], j + i / 2);
          left[i].thread_elements()[0] = two.x;
          left[i].thread_elements()[1] = two.y;
        }
        multiply_two(products[t], products[t + 1], left, rights[j], rights[j + 1]);
      }
    }
  }
  const float2 total = AS_THREADGROUP(const float2, totals + fragment_column(lane))[0];
  float2 undo = make_float2(1.0f, 1.0f);
  if (!is_plain()) undo = AS_THREADGROUP(const float2, totals + ROWS + fragment_column(lane))[0];
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    const float scale = one_of(codes.scales + t * 2, u);
    const float bias = fma(scale, float(CENTRE), one_of(codes.biases + t * 2, u));
    float first = products[t].thread_elements()[0];
    float second = products[t].thread_elements()[1];
    if (!is_plain()) {
      first *= undo.x;
      second *= undo.y;
    }
    first = fma(scale, first, float(sums[t].thread_elements()[0]));
    second = fma(scale, second, float(sums[t].thread_elements()[1]));
    sums[t].thread_elements()[0] = fma(bias, total.x, first);
    sums[t].thread_elements()[1] = fma(bias, total.y, second);
  }
}
