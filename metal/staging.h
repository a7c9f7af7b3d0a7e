/**
 * x of a matrix-vector product (matvec.h): normed, joined to the residual stream if that is wanted, and
 * staged in threadgroup memory for the simdgroups that multiply it.
 */
#pragma once

#include "params.h"
#include "reduce.h"
#include "unpack.h"

enum {
  SETS = 4,
  SET_LANES = 8,
  /** Most that kLaneRows is. */
  MAX_LANE_ROWS = 4,
  RUN = 32,
  BLOCK = SET_LANES * RUN,
  /** uint4 of a simdgroup's share of a panel: a block of floats, or two of halves. */
  PANEL = BLOCK / 4,
  /** The largest x of a run is made 2^7 to 2^8: 16 products with numbers of up to 8 stay below 65504. */
  LARGEST_EXPONENT = 7,
  /** float4 of threadgroup memory of a simdgroup: its share, and for each run Σ x and what undoes its factor,
   * or Σ x of both halves.
   */
  STAGED = PANEL + 2 * SET_LANES / 2
};

/** Simdgroup `index` of `count` that share x: every `parts`-th block of its columns from block `part` on. */
struct Team {
  uint index;
  uint count;
  uint part;
  uint parts;
};

inline void team_barrier(const thread Team& team) {
  if (team.count == 1) {
    lanes_barrier();
  } else {
    group_barrier();
  }
}

/** Whether x is staged as halves. */
inline bool has_halves() {
  return kWeightType == DTYPE_AFFINE && kBits == 4 && kIsHalf;
}
/** Blocks of a panel. */
inline uint panel_blocks(const thread Team& team) {
  return team.count * (has_halves() ? 2 : 1);
}
/** First column of the team's block number `block`. */
inline uint block_column(const thread Team& team, uint block) {
  return (block * team.parts + team.part) * BLOCK;
}
/** The most blocks that a team of this threadgroup has. */
inline uint most_blocks(const thread Team& team, uint columns) {
  return (columns + team.parts * BLOCK - 1) / (team.parts * BLOCK);
}

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
  /** Whether this team writes the sum. */
  bool writes_join;

  /** The lane's shares; after `finish_sums` those of its set. */
  float sums[MAX_LANE_ROWS];
  /** Σ x², for the RMS. */
  float squares;
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

/** Where uint4 or float4 number `part` of a lane's run lies in its block: lanes side by side. */
inline uint slot_of(uint part, uint own) {
  return part * SET_LANES + own;
}

/**
 * Brings the team's blocks from number `first` on to threadgroup memory, a simdgroup one at a time. Packed
 * numbers meet each x divided by the power of two by which their bits stand too high; `place` has these
 * factors for the lane.
 */
inline void stage_floats(thread Tile& tile, const thread Team& team, uint first, uint lane,
                         const thread float* place, THREADGROUP(float4) staged) {
  float x[8];
  load_x(tile, block_column(team, first + team.index) + lane * 8, x);
  float total = 0.0f;
  UNROLL for (uint i = 0; i < 8; i++) total += x[i];
  // Of half a run, then of the lane's neighbours, who have the other half.
  total += simd_shuffle_xor(total, 1);
  const float other = simd_shuffle_xor(total, 2);
  const float4 one = make_float4(x[0] * place[0], x[1] * place[1], x[2] * place[2], x[3] * place[3]);
  const float4 two = make_float4(x[4] * place[4], x[5] * place[5], x[6] * place[6], x[7] * place[7]);
  const uint block = team.index * PANEL;
  const bool is_packed = kWeightType == DTYPE_AFFINE;
  staged[block + (is_packed ? slot_of(lane % 4 * 2, lane / 4) : lane * 2)] = one;
  staged[block + (is_packed ? slot_of(lane % 4 * 2 + 1, lane / 4) : lane * 2 + 1)] = two;
  if (lane % 4 == 0) {
    AS_THREADGROUP(float2, staged + team.count * PANEL)
    [team.index * SET_LANES + lane / 4] =
        has_fine_groups() ? make_float2(total, other) : make_float2(total + other, 0.0f);
  }
}

/**
 * The lane's 8 numbers of a block as halves, for a word of eight numbers the pairs (i, i + 4), times a power
 * of two that puts the run's largest number where sums of products neither overflow nor lose digits; `totals`
 * has for each run of the block Σ x and what undoes its factor.
 */
inline void store_halves(const thread float* x, uint lane, THREADGROUP(uint4) block,
                         THREADGROUP(float2) totals) {
  float total = 0.0f;
  float largest = 0.0f;
  UNROLL for (uint e = 0; e < 8; e++) {
    total += x[e];
    largest = max(largest, fabs(x[e]));
  }
  total += simd_shuffle_xor(total, 1);
  total += simd_shuffle_xor(total, 2);
  largest = max(largest, simd_shuffle_xor(largest, 1));
  largest = max(largest, simd_shuffle_xor(largest, 2));
  // Its exponent alone, as a float has it; what is all zeros need not be changed far.
  const uint exponent = max(as_type<uint>(largest) >> 23, 32u);
  const float factor = as_type<float>((254u + LARGEST_EXPONENT - exponent) << 23);
  uint4 pairs;
  pairs.x = as_type<uint>(make_half2(x[0] * factor, x[4] * factor));
  pairs.y = as_type<uint>(make_half2(x[1] * factor, x[5] * factor));
  pairs.z = as_type<uint>(make_half2(x[2] * factor, x[6] * factor));
  pairs.w = as_type<uint>(make_half2(x[3] * factor, x[7] * factor));
  block[slot_of(lane % 4, lane / 4)] = pairs;
  if (lane % 4 == 0) {
    totals[lane / 4] = make_float2(total, as_type<float>((exponent - LARGEST_EXPONENT) << 23));
  }
}

/** The same for two blocks a simdgroup. */
inline void stage_halves(thread Tile& tile, const thread Team& team, uint first, uint lane,
                         THREADGROUP(float4) staged) {
  THREADGROUP(float2) totals = AS_THREADGROUP(float2, staged + team.count * PANEL);
  UNROLL for (uint i = 0; i < 2; i++) {
    const uint block = i * team.count + team.index;
    float x[8];
    load_x(tile, block_column(team, first + block) + lane * 8, x);
    store_halves(x, lane, AS_THREADGROUP(uint4, staged) + block * (PANEL / 2), totals + block * SET_LANES);
  }
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
