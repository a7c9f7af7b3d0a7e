/**
 * The sums of a matrix-vector product. A simdgroup takes SETS sets of kLaneRows rows of a weight; SET_LANES
 * lanes share a set, and each of them a run of neighbouring columns of every block, so that a load of packed
 * numbers is 16 bytes a lane and a whole line of every row. The block's part of x is normalised once and read
 * by all sets from threadgroup memory. The words of the next block are on their way while one is summed.
 * Σ w·x of a group is scale * Σ q·x + bias * Σ x. With kIsHalf, products of 4-bit numbers and x are summed in
 * halves, sixteen at a time: half the instructions, and digits like those of activations that are halves.
 */
#pragma once

#include "params.h"
#include "reduce.h"
#include "unpack.h"

enum {
  SETS = 4,
  SET_LANES = 8,
  /** Most that kLaneRows is. */
  MAX_LANE_ROWS = 8,
  RUN = 32,
  BLOCK = SET_LANES * RUN,
  /** A run in threadgroup memory, in float4: its numbers, then their sum. */
  RUN_PITCH = RUN / 4 + 1,
  /** The largest x of a block is made 2^8 to 2^9: eight products with numbers of up to 8 stay below 65504. */
  LARGEST_EXPONENT = 8,
  /** float4 of threadgroup memory of a simdgroup. */
  STAGED = SET_LANES * RUN_PITCH
};

/** What one simdgroup works on, and its sums so far. */
struct Tile {
  DEVICE(const uchar) x;
  /** First element of the row of x. */
  uint first;
  uint columns;
  bool is_aligned;

  DEVICE(const uchar) weight;
  DEVICE(const uchar) scales;
  DEVICE(const uchar) biases;
  /** Rows of the weight of this lane's set. */
  uint rows[MAX_LANE_ROWS];

  // The norm of x as far as it is needed before the sums.
  DEVICE(const float) norm_weight;
  DEVICE(const float) norm_bias;
  float offset;
  float mean;
  float inverse;

  // kHasJoin: the row of the residual stream that norm(x) is added to, and where the sum goes.
  DEVICE(const float) join_weight;
  DEVICE(const float) join_residual;
  DEVICE(float) join_sum;
  float join_offset;
  float join_inverse;
  /** Whether this simdgroup writes the sum. */
  bool writes_join;

  /** The lane's shares; after `finish_sums` those of its set. */
  float sums[MAX_LANE_ROWS];
  /** Σ x², for the RMS. */
  float squares;
};

/** What a lane reads of its rows for one block: kWords words a row, and the scale and bias of its run. */
template <uint kWords>
struct Run {
  uint words[MAX_LANE_ROWS * kWords];
  float scales[MAX_LANE_ROWS];
  float biases[MAX_LANE_ROWS];
  // Of the second half of the run, when has_fine_groups.
  float second_scales[MAX_LANE_ROWS];
  float second_biases[MAX_LANE_ROWS];
};

/** x[k … k + 8) with the norm's weight applied, zeros from `columns` on; RMS leaves 1 / rms to the epilogue
 * and sums the squares for it. */
inline void load_x(thread Tile& tile, uint k, thread float* values) {
  const uint count = k < tile.columns ? tile.columns - k : 0;
  load_dense_run(tile.x, kXType, tile.first + k, count, tile.is_aligned, 8, values);
  if (kNorm == NORM_NONE && !kHasJoin) return;
  UNROLL for (uint i = 0; i < 8; i++) {
    if (i >= count) break;
    float value = values[i];
    if (kHasJoin) {
      value *= tile.join_inverse;
      if (kHasJoinWeight) value *= tile.join_weight[k + i] + tile.join_offset;
      value += tile.join_residual[k + i];
      if (tile.writes_join) tile.join_sum[k + i] = value;
    }
    if (kNorm == NORM_RMS) tile.squares = fma(value, value, tile.squares);
    if (kNorm == NORM_LAYER) value = (value - tile.mean) * tile.inverse;
    if (kHasNormWeight) value *= tile.norm_weight[k + i] + tile.offset;
    if (kHasNormBias) value += tile.norm_bias[k + i];
    values[i] = value;
  }
}

/** Brings x[block … block + BLOCK) to the simdgroup's threadgroup memory, each number times `factors`. */
inline void stage_x(thread Tile& tile, uint block, uint lane, const thread float* factors,
                    THREADGROUP(float4) staged) {
  float values[8];
  load_x(tile, block + lane * 8, values);
  float total = 0.0f;
  UNROLL for (uint i = 0; i < 8; i++) total += values[i];
  // Of half a run, then of the lane's neighbours, who have the other half.
  total += simd_shuffle_xor(total, 1);
  const float other = simd_shuffle_xor(total, 2);
  // The block before this one may still be read.
  lanes_barrier();
  const uint at = lane / 4 * RUN_PITCH + lane % 4 * 2;
  staged[at] = make_float4(values[0] * factors[0], values[1] * factors[1], values[2] * factors[2],
                           values[3] * factors[3]);
  staged[at + 1] = make_float4(values[4] * factors[4], values[5] * factors[5], values[6] * factors[6],
                               values[7] * factors[7]);
  if (lane % 4 == 0) staged[at + RUN / 4] = make_float4(total + other, total, other, 0.0f);
  lanes_barrier();
}

/**
 * The same in halves, for a word of eight numbers the pairs (i, i + 4), times a power of two that puts the
 * block's largest number where sums of products neither overflow nor lose digits. Returns what undoes that.
 */
inline float stage_halves(thread Tile& tile, uint block, uint lane, THREADGROUP(float4) staged) {
  float values[8];
  load_x(tile, block + lane * 8, values);
  float total = 0.0f;
  float largest = 0.0f;
  UNROLL for (uint i = 0; i < 8; i++) {
    total += values[i];
    largest = max(largest, fabs(values[i]));
  }
  total += simd_shuffle_xor(total, 1);
  total += simd_shuffle_xor(total, 2);
  largest = simd_max(largest);
  // Its exponent alone, as a float has it; what is all zeros need not be changed far.
  const uint exponent = max(as_type<uint>(largest) >> 23, 32u);
  const float factor = as_type<float>((254u + LARGEST_EXPONENT - exponent) << 23);
  lanes_barrier();
  const uint at = lane / 4 * RUN_PITCH + lane % 4;
  uint4 pairs;
  pairs.x = as_type<uint>(make_half2(values[0] * factor, values[4] * factor));
  pairs.y = as_type<uint>(make_half2(values[1] * factor, values[5] * factor));
  pairs.z = as_type<uint>(make_half2(values[2] * factor, values[6] * factor));
  pairs.w = as_type<uint>(make_half2(values[3] * factor, values[7] * factor));
  AS_THREADGROUP(uint4, staged)[at] = pairs;
  if (lane % 4 == 0) staged[at + RUN / 4] = make_float4(total, 0.0f, 0.0f, 0.0f);
  lanes_barrier();
  return as_type<float>((exponent - LARGEST_EXPONENT) << 23);
}

inline void take_four(THREADGROUP(const float4) staged, uint at, thread float* values) {
  const float4 four = staged[at];
  values[0] = four.x;
  values[1] = four.y;
  values[2] = four.z;
  values[3] = four.w;
}

/** The lane's run from column k on; zeros from `columns` on. */
template <uint kWidth>
inline void load_run(thread Tile& tile, uint k, thread Run<kWidth>& run) {
  DEVICE(const uint) source = AS_DEVICE(const uint, tile.weight);
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    if (k < tile.columns) {
      const ulong first = ulong(tile.rows[r]) * (tile.columns / RUN) + k / RUN;
      load_words<kWidth>(source + first * kWidth, run.words + r * kWidth);
    } else {
      UNROLL for (uint i = 0; i < kWidth; i++) run.words[r * kWidth + i] = 0;
    }
  }
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    const uint group = tile.rows[r] * (tile.columns / kGroupSize) + k / kGroupSize;
    run.scales[r] = k < tile.columns ? load_value(tile.scales, kScaleType, group) : 0.0f;
    run.biases[r] = k < tile.columns ? load_value(tile.biases, kScaleType, group) : 0.0f;
    if (!has_fine_groups()) continue;
    run.second_scales[r] = k < tile.columns ? load_value(tile.scales, kScaleType, group + 1) : 0.0f;
    run.second_biases[r] = k < tile.columns ? load_value(tile.biases, kScaleType, group + 1) : 0.0f;
  }
}

/** Every `parts`-th block of a weight of 4-bit numbers, multiplied in halves. */
inline void sum_halves(thread Tile& tile, uint part, uint parts, uint lane, THREADGROUP(float4) staged) {
  const uint own = lane % SET_LANES;
  Run<4> next;
  load_run(tile, part * BLOCK + own * RUN, next);
  for (uint block = part * BLOCK; block < tile.columns; block += parts * BLOCK) {
    const Run<4> run = next;
    const float unit = stage_halves(tile, block, lane, staged);
    load_run(tile, block + parts * BLOCK + own * RUN, next);
    float dots[MAX_LANE_ROWS];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) dots[r] = 0.0f;
    UNROLL for (uint two = 0; two < 4; two += 2) {
      const uint4 x[2] = {AS_THREADGROUP(const uint4, staged)[own * RUN_PITCH + two],
                          AS_THREADGROUP(const uint4, staged)[own * RUN_PITCH + two + 1]};
      UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
        half2 sum = make_half2(0.0f, 0.0f);
        UNROLL for (uint i = 0; i < 2; i++) {
          const uint word = run.words[r * 4 + two + i];
          sum = fused(centred_pair(word, 0), as_type<half2>(x[i].x), sum);
          sum = fused(centred_pair(word, 1), as_type<half2>(x[i].y), sum);
          sum = fused(centred_pair(word, 2), as_type<half2>(x[i].z), sum);
          sum = fused(centred_pair(word, 3), as_type<half2>(x[i].w), sum);
        }
        dots[r] += float(sum.x) + float(sum.y);
      }
    }
    const float4 total = staged[own * RUN_PITCH + RUN / 4];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      tile.sums[r] = fma(run.scales[r] * unit, dots[r], tile.sums[r]);
      tile.sums[r] = fma(fma(run.scales[r], float(CENTRE), run.biases[r]), total.x, tile.sums[r]);
    }
  }
}

/** Every `parts`-th block of a packed weight. */
template <uint kWidth>
inline void sum_packed(thread Tile& tile, uint part, uint parts, uint lane, THREADGROUP(float4) staged) {
  float factors[8];
  UNROLL for (uint i = 0; i < 8; i++) {
    factors[i] = as_type<float>((127u - place_of<kWidth>(lane % 4 * 8 + i)) << 23);
  }
  const uint own = lane % SET_LANES;
  Run<kWidth> next;
  load_run(tile, part * BLOCK + own * RUN, next);
  for (uint block = part * BLOCK; block < tile.columns; block += parts * BLOCK) {
    const Run<kWidth> run = next;
    stage_x(tile, block, lane, factors, staged);
    load_run(tile, block + parts * BLOCK + own * RUN, next);
    float dots[MAX_LANE_ROWS];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) dots[r] = 0.0f;
    UNROLL for (uint four = 0; four < RUN; four += 4) {
      float x[4];
      take_four(staged, own * RUN_PITCH + four / 4, x);
      UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
        UNROLL for (uint i = 0; i < 4; i++) {
          dots[r] = fma(number_in_place<kWidth>(run.words + r * kWidth, four + i), x[i], dots[r]);
        }
        if (!has_fine_groups() || four + 4 != RUN / 2) continue;
        tile.sums[r] = fma(run.scales[r], dots[r], tile.sums[r]);
        dots[r] = 0.0f;
      }
    }
    const float4 total = staged[own * RUN_PITCH + RUN / 4];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      tile.sums[r] = fma(has_fine_groups() ? run.second_scales[r] : run.scales[r], dots[r], tile.sums[r]);
      tile.sums[r] = fma(run.biases[r], has_fine_groups() ? total.y : total.x, tile.sums[r]);
      if (has_fine_groups()) tile.sums[r] = fma(run.second_biases[r], total.z, tile.sums[r]);
    }
  }
}

/** Every `parts`-th block of a weight stored as numbers; a lane takes 8 columns of each quarter of a block.
 */
inline void sum_dense(thread Tile& tile, uint part, uint parts, uint lane, THREADGROUP(float4) staged) {
  const uint columns = tile.columns;
  float factors[8];
  UNROLL for (uint i = 0; i < 8; i++) factors[i] = 1.0f;
  for (uint block = part * BLOCK; block < columns; block += parts * BLOCK) {
    stage_x(tile, block, lane, factors, staged);
    UNROLL for (uint quarter = 0; quarter < 4; quarter++) {
      const uint within = quarter * (BLOCK / 4) + lane % SET_LANES * 8;
      const uint k = block + within;
      if (k >= columns) break;
      float x[8];
      take_four(staged, within / RUN * RUN_PITCH + within % RUN / 4, x);
      take_four(staged, within / RUN * RUN_PITCH + within % RUN / 4 + 1, x + 4);
      UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
        float w[8];
        load_dense_run(tile.weight, kWeightType, ulong(tile.rows[r]) * columns + k, columns - k,
                       columns % 4 == 0, 8, w);
        UNROLL for (uint i = 0; i < 8; i++) tile.sums[r] = fma(w[i], x[i], tile.sums[r]);
      }
    }
  }
}

/** Adds part `part` of `parts` of the columns to the lane's sums; `staged`: STAGED float4 of this simdgroup.
 */
inline void sum_rows(thread Tile& tile, uint part, uint parts, uint lane, THREADGROUP(float4) staged) {
  if (kWeightType != DTYPE_AFFINE) return sum_dense(tile, part, parts, lane, staged);
  switch (kBits) {
    case 2:
      return sum_packed<2>(tile, part, parts, lane, staged);
    case 3:
      return sum_packed<3>(tile, part, parts, lane, staged);
    case 4:
      if (kIsHalf) return sum_halves(tile, part, parts, lane, staged);
      return sum_packed<4>(tile, part, parts, lane, staged);
    case 5:
      return sum_packed<5>(tile, part, parts, lane, staged);
    case 6:
      return sum_packed<6>(tile, part, parts, lane, staged);
    case 8:
      return sum_packed<8>(tile, part, parts, lane, staged);
  }
}

/** The sum over the lanes of a set, for all of them. */
inline float set_sum(float value) {
  value += simd_shuffle_xor(value, 1);
  value += simd_shuffle_xor(value, 2);
  return value + simd_shuffle_xor(value, 4);
}

/** Adds up the lanes' shares. */
inline void finish_sums(thread Tile& tile) {
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) tile.sums[r] = set_sum(tile.sums[r]);
  if (kNorm == NORM_RMS) tile.squares = simd_sum(tile.squares);
}

/** What the sums of a normalised x are still to be multiplied by; after all squares are in. */
inline float rms_factor(thread Tile& tile, float eps) {
  return kNorm == NORM_RMS ? rsqrt(tile.squares / float(tile.columns) + eps) : 1.0f;
}

/** What norms need to know of the whole row of x before the sums, found by the whole threadgroup; `scratch`:
 * a float for each simdgroup. */
inline void read_statistics(thread Tile& tile, float eps, float join_eps, THREADGROUP(float) scratch,
                            uint lane, uint simd_index) {
  const uint first = simd_index * 32 + lane;
  const uint step = kSimdgroups * 32;
  if (kHasJoin) {
    float squares = 0.0f;
    for (uint k = first; k < tile.columns; k += step) {
      const float value = load_value(tile.x, kXType, tile.first + k);
      squares = fma(value, value, squares);
    }
    squares = group_sum(squares, scratch, lane, simd_index, kSimdgroups);
    tile.join_inverse = rsqrt(squares / float(tile.columns) + join_eps);
  }
  if (kNorm != NORM_LAYER) return;
  float sum = 0.0f;
  for (uint k = first; k < tile.columns; k += step) sum += load_value(tile.x, kXType, tile.first + k);
  tile.mean = group_sum(sum, scratch, lane, simd_index, kSimdgroups) / float(tile.columns);
  float squares = 0.0f;
  for (uint k = first; k < tile.columns; k += step) {
    const float centred = load_value(tile.x, kXType, tile.first + k) - tile.mean;
    squares = fma(centred, centred, squares);
  }
  squares = group_sum(squares, scratch, lane, simd_index, kSimdgroups);
  tile.inverse = rsqrt(squares / float(tile.columns) + eps);
}
