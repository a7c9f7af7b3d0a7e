/**
 * What the kernels of a few rows of x share (linear_batch.metal, linear_halves.metal): packed or plain
 * numbers of a weight as elements of 8 × 8 matrices, x staged so that it meets them, and what happens to the
 * sums.
 */
#pragma once

#include "linear.h"
#include "params.h"
#include "unpack.h"

enum {
  ROWS = 8,
  UNIT = 64,
  HALF_RUN = 16,
  PRODUCTS = 8,
  MAX_TILES = 6,
  /** Floats of a unit's x. */
  STAGED = ROWS * UNIT,
  /** uint4 of a unit's x in halves. */
  UNIT_SLOTS = ROWS * UNIT / 8
};

/** Whether matrices hold packed integers. */
inline bool has_integers() {
  return kWeightType == DTYPE_AFFINE && kGroupSize >= UNIT;
}

/** What a lane works on. */
struct Lane {
  DEVICE(const uchar) weight;
  DEVICE(const uchar) scales;
  DEVICE(const uchar) biases;
  uint columns;
  /** Its row of each tile, and the first of its columns in a unit. */
  uint rows[MAX_TILES];
  uint column;
};

/** Numbers of a run of x that one thread brings to threadgroup memory. */
inline uint own_count() {
  return HALF_RUN * kSplit / kSimdgroups;
}

/** The x that a thread brings to threadgroup memory: numbers first … first + own_count() of a row's run. */
struct Staging {
  DEVICE(const uchar) x;
  DEVICE(const float) norm_weight;
  uint first_x;
  bool has_row;
  bool is_aligned;
  uint first;
  float offset;
  float squares;
  float total;
  float values[HALF_RUN];
};

/** 16 numbers of each of the lane's rows. */
template <uint kWidth>
struct Packed {
  uint words[MAX_TILES * ((kWidth + 1) / 2)];
  float scales[MAX_TILES];
  float biases[MAX_TILES];
};
struct Dense {
  float values[MAX_TILES * HALF_RUN];
};

template <uint kWidth>
inline void load_numbers(const thread Lane& own, uint unit, thread Packed<kWidth>& numbers) {
  const uint column = unit + own.column;
  DEVICE(const uint) source = AS_DEVICE(const uint, own.weight);
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    if (column < own.columns) {
      load_half_run<kWidth>(source, ulong(own.rows[t]) * own.columns + column,
                            numbers.words + t * ((kWidth + 1) / 2));
    } else {
      UNROLL for (uint i = 0; i < (kWidth + 1) / 2; i++) numbers.words[t * ((kWidth + 1) / 2) + i] = 0;
    }
  }
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    const uint group = own.rows[t] * (own.columns / kGroupSize) + column / kGroupSize;
    numbers.scales[t] = column < own.columns ? load_value(own.scales, kScaleType, group) : 0.0f;
    numbers.biases[t] = column < own.columns ? load_value(own.biases, kScaleType, group) : 0.0f;
  }
}
inline void load_numbers(const thread Lane& own, uint unit, thread Dense& numbers) {
  const uint column = unit + own.column;
  const uint count = column < own.columns ? own.columns - column : 0;
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    load_dense_run(own.weight, kWeightType, ulong(own.rows[t]) * own.columns + column, count,
                   own.columns % 4 == 0, HALF_RUN, numbers.values + t * HALF_RUN);
  }
}

/** Number i of tile t as a matrix holds it: `factor_of` times too large. */
template <uint kWidth>
inline float number_of(const thread Packed<kWidth>& numbers, uint t, uint i) {
  const float number = number_in_place<kWidth>(numbers.words + t * ((kWidth + 1) / 2), i);
  if (has_integers()) return number;
  return fma(number, numbers.scales[t], numbers.biases[t] * float(1u << place_of<kWidth>(i)));
}
inline float number_of(const thread Dense& numbers, uint t, uint i) {
  return numbers.values[t * HALF_RUN + i];
}

template <uint kWidth>
inline float factor_of(const thread Packed<kWidth>&, uint i) {
  return as_type<float>((127u - place_of<kWidth>(i)) << 23);
}
inline float factor_of(const thread Dense&, uint) {
  return 1.0f;
}

/** Elements that product `product` takes of tile t. */
template <typename Numbers>
inline void fill_left(const thread Numbers& numbers, uint t, uint product,
                      thread simdgroup_matrix<float, 8, 8>& left) {
  left.thread_elements()[0] = number_of(numbers, t, 2 * product);
  left.thread_elements()[1] = number_of(numbers, t, 2 * product + 1);
}

/** Brings a thread's numbers to where `fill_left` pairs them with the weight's. */
template <typename Numbers>
inline void store_staged(const thread float* values, uint first, const thread Numbers& numbers, uint lane,
                         THREADGROUP(float) staged) {
  UNROLL_BY_CONSTANT for (uint i = 0; i < own_count(); i += 2) {
    const uint number = first + i;
    AS_THREADGROUP(float2, staged)
    [number / 2 * 32 + lane] =
        make_float2(values[i] * factor_of(numbers, number), values[i + 1] * factor_of(numbers, number + 1));
  }
}

/** Adds a unit's sums of integers: scale * Σ q·x + bias * Σ x; `total` has Σ x of the lane's two rows of x.
 */
template <uint kWidth>
inline void add_scaled(const thread Packed<kWidth>& numbers, const thread float* total,
                       thread simdgroup_matrix<float, 8, 8> (&products)[MAX_TILES],
                       thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES]) {
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    UNROLL for (uint i = 0; i < 2; i++) {
      const float sum = fma(numbers.scales[t], float(products[t].thread_elements()[i]),
                            float(sums[t].thread_elements()[i]));
      sums[t].thread_elements()[i] = fma(numbers.biases[t], total[i], sum);
    }
  }
}
inline void add_scaled(const thread Dense&, const thread float*,
                       thread simdgroup_matrix<float, 8, 8> (&)[MAX_TILES],
                       thread simdgroup_matrix<float, 8, 8> (&)[MAX_TILES]) {}

/** The lane's row of the weight in tile t of the simdgroup's outputs from `first_output` on. */
inline uint tile_row(uint first_output, uint t, uint lane, constant LinearParams& p) {
  const uint output = first_output + (kIsGlu ? t / 2 : t) * 8 + fragment_row(lane);
  return gate_row(min(output, p.outputs - 1), p) + (kIsGlu && t % 2 == 1 ? p.up_offset : 0);
}

/** The lane's rows of the weight from output `first_output` of the simdgroup on, and empty sums. */
inline void begin_tiles(thread Lane& own, thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES],
                        DEVICE(const uchar) weight, DEVICE(const uchar) scales, DEVICE(const uchar) biases,
                        uint first_output, uint lane, constant LinearParams& p) {
  own.weight = weight;
  own.scales = scales;
  own.biases = biases;
  own.columns = p.columns;
  own.column = fragment_column(lane) / 2 * HALF_RUN;
  UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
    own.rows[t] = tile_row(first_output, t, lane, p);
    simdgroup_fill(sums[t], 0.0f);
  }
}

/** Adds the sums of a threadgroup's parts to those of part 0; `shared` has 64 floats a tile. */
inline void add_parts(thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES], uint part, uint simd_index,
                      uint lane, THREADGROUP(float) shared) {
  const uint members = kSimdgroups / kSplit;
  if (part != 0) {
    UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
      UNROLL for (uint i = 0; i < 2; i++) {
        shared[(simd_index * kLaneRows + t) * 64 + i * 32 + lane] = sums[t].thread_elements()[i];
      }
    }
  }
  group_barrier();
  if (part != 0) return;
  for (uint other = simd_index + members; other < kSimdgroups; other += members) {
    UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t++) {
      UNROLL for (uint i = 0; i < 2; i++) {
        sums[t].thread_elements()[i] += shared[(other * kLaneRows + t) * 64 + i * 32 + lane];
      }
    }
  }
}

/** Finishes the lane's outputs; `squares` has Σ x² of each row of x, in ROWS floats of every simdgroup. */
inline void finish_tiles(thread simdgroup_matrix<float, 8, 8> (&sums)[MAX_TILES], THREADGROUP(float) squares,
                         uint first_row, uint first_output, uint lane, DEVICE(const float) bias,
                         DEVICE(const float) residual, DEVICE(uchar) out, constant LinearParams& p) {
  UNROLL for (uint i = 0; i < 2; i++) {
    const uint m = fragment_column(lane) + i;
    float inverse = 1.0f;
    if (kNorm == NORM_RMS) {
      float sum = 0.0f;
      UNROLL_BY_CONSTANT for (uint s = 0; s < kSimdgroups; s++) sum += squares[s * ROWS + m];
      inverse = rsqrt(sum / float(p.columns) + p.eps);
    }
    UNROLL_BY_CONSTANT for (uint t = 0; t < kLaneRows; t += kIsGlu ? 2 : 1) {
      const float sum = sums[t].thread_elements()[i] * inverse;
      const float up = kIsGlu ? sums[t + 1].thread_elements()[i] * inverse : 0.0f;
      const uint output = first_output + (kIsGlu ? t / 2 : t) * 8 + fragment_row(lane);
      store_output(sum, up, first_row + m, output, bias, residual, out, p);
    }
  }
}
