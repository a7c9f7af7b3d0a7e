/**
 * The sums of a matrix-vector product. A simdgroup takes SETS sets of kLaneRows rows of a weight; SET_LANES
 * lanes share a set, and each of them a run of neighbouring columns of every block, so that a load of packed
 * numbers is 16 bytes a lane and a whole line of every row. The words of the next block are on their way
 * while one is summed. Simdgroups that multiply the same x are a team: they norm it and bring it to
 * threadgroup memory once, panel by panel, and read it from there without waiting for each other. Σ w·x of a
 * group is scale * Σ q·x + bias * Σ x. With kIsHalf, products of 4-bit numbers and x are summed in halves,
 * sixteen at a time: half the instructions, and digits like those of activations that are halves.
 */
#pragma once

#include "staging.h"

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

/** A block of a weight of 4-bit numbers, multiplied in halves; `x` is the block of the panel. */
inline void sum_halves(thread Tile& tile, const thread Run<4>& run, uint own, THREADGROUP(float4) x,
                       float2 total) {
  half2 sums[2 * MAX_LANE_ROWS];
  UNROLL for (uint two = 0; two < 2; two++) {
    uint4 pairs[2];
    UNROLL for (uint i = 0; i < 2; i++) pairs[i] = AS_THREADGROUP(const uint4, x)[slot_of(2 * two + i, own)];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      half2 sum = make_half2(0.0f, 0.0f);
      UNROLL for (uint i = 0; i < 2; i++) {
        const uint word = run.words[r * 4 + 2 * two + i];
        sum = fused(centred_pair(word, 0), as_type<half2>(pairs[i].x), sum);
        sum = fused(centred_pair(word, 1), as_type<half2>(pairs[i].y), sum);
        sum = fused(centred_pair(word, 2), as_type<half2>(pairs[i].z), sum);
        sum = fused(centred_pair(word, 3), as_type<half2>(pairs[i].w), sum);
      }
      sums[two * MAX_LANE_ROWS + r] = sum;
    }
  }
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    const half2 sum = fused(sums[r], make_half2(1.0f, 1.0f), sums[MAX_LANE_ROWS + r]);
    const float dot = float(sum.x) + float(sum.y);
    tile.sums[r] = fma(run.scales[r] * total.y, dot, tile.sums[r]);
    tile.sums[r] = fma(fma(run.scales[r], float(CENTRE), run.biases[r]), total.x, tile.sums[r]);
  }
}

template <uint kWidth>
inline void sum_halves(thread Tile&, const thread Run<kWidth>&, uint, THREADGROUP(float4), float2) {}

/** The same of numbers of any width, in floats. */
template <uint kWidth>
inline void sum_floats(thread Tile& tile, const thread Run<kWidth>& run, uint own, THREADGROUP(float4) x,
                       float2 total) {
  float dots[MAX_LANE_ROWS];
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) dots[r] = 0.0f;
  UNROLL for (uint four = 0; four < RUN; four += 4) {
    const float4 values = x[slot_of(four / 4, own)];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      const thread uint* words = run.words + r * kWidth;
      dots[r] = fma(number_in_place<kWidth>(words, four), values.x, dots[r]);
      dots[r] = fma(number_in_place<kWidth>(words, four + 1), values.y, dots[r]);
      dots[r] = fma(number_in_place<kWidth>(words, four + 2), values.z, dots[r]);
      dots[r] = fma(number_in_place<kWidth>(words, four + 3), values.w, dots[r]);
      if (!has_fine_groups() || four + 4 != RUN / 2) continue;
      tile.sums[r] = fma(run.scales[r], dots[r], tile.sums[r]);
      dots[r] = 0.0f;
    }
  }
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
    tile.sums[r] = fma(has_fine_groups() ? run.second_scales[r] : run.scales[r], dots[r], tile.sums[r]);
    tile.sums[r] = fma(run.biases[r], total.x, tile.sums[r]);
    if (has_fine_groups()) tile.sums[r] = fma(run.second_biases[r], total.y, tile.sums[r]);
  }
}

/** The team's blocks of a packed weight. */
template <uint kWidth>
inline void sum_packed(thread Tile& tile, const thread Team& team, uint lane, THREADGROUP(float4) staged) {
  float place[8];
  UNROLL for (uint i = 0; i < 8; i++) {
    place[i] = as_type<float>((127u - place_of<kWidth>(lane % 4 * 8 + i)) << 23);
  }
  const uint own = lane % SET_LANES;
  const uint width = panel_blocks(team);
  const uint end = most_blocks(team, tile.columns);
  const uint block_slots = has_halves() ? PANEL / 2 : PANEL;
  THREADGROUP(const float2) totals = AS_THREADGROUP(const float2, staged + team.count * PANEL);
  Run<kWidth> next;
  load_run(tile, block_column(team, 0) + own * RUN, next);
  for (uint first = 0; first < end; first += width) {
    if (first > 0) team_barrier(team);
    if (has_halves()) {
      stage_halves(tile, team, first, lane, staged);
    } else {
      stage_floats(tile, team, first, lane, place, staged);
    }
    team_barrier(team);
    for (uint block = 0; block < width; block++) {
      if (block_column(team, first + block) >= tile.columns) break;
      const Run<kWidth> run = next;
      load_run(tile, block_column(team, first + block + 1) + own * RUN, next);
      const float2 total = totals[block * SET_LANES + own];
      if (has_halves()) {
        sum_halves(tile, run, own, staged + block * block_slots, total);
      } else {
        sum_floats(tile, run, own, staged + block * block_slots, total);
      }
    }
  }
}

/** The team's blocks of a weight stored as numbers; a lane takes 8 columns of each quarter of a block. */
inline void sum_dense(thread Tile& tile, const thread Team& team, uint lane, THREADGROUP(float4) staged) {
  const uint columns = tile.columns;
  const uint width = panel_blocks(team);
  const uint end = most_blocks(team, columns);
  float place[8];
  UNROLL for (uint i = 0; i < 8; i++) place[i] = 1.0f;
  for (uint first = 0; first < end; first += width) {
    if (first > 0) team_barrier(team);
    stage_floats(tile, team, first, lane, place, staged);
    team_barrier(team);
    for (uint block = 0; block < width; block++) {
      UNROLL for (uint quarter = 0; quarter < 4; quarter++) {
        const uint within = quarter * (BLOCK / 4) + lane % SET_LANES * 8;
        const uint k = block_column(team, first + block) + within;
        if (k >= columns) break;
        const uint slot = block * PANEL + within / 4;
        const float4 x[2] = {staged[slot], staged[slot + 1]};
        UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
          float w[8];
          load_dense_run(tile.weight, kWeightType, ulong(tile.rows[r]) * columns + k, columns - k,
                         columns % 4 == 0, 8, w);
          UNROLL for (uint i = 0; i < 2; i++) {
            tile.sums[r] = fma(w[4 * i], x[i].x, tile.sums[r]);
            tile.sums[r] = fma(w[4 * i + 1], x[i].y, tile.sums[r]);
            tile.sums[r] = fma(w[4 * i + 2], x[i].z, tile.sums[r]);
            tile.sums[r] = fma(w[4 * i + 3], x[i].w, tile.sums[r]);
          }
        }
      }
    }
  }
}

/**
 * Adds the team's columns to the lane's sums; `staged`: STAGED float4 for each simdgroup of the team. All
 * simdgroups of a threadgroup whose teams have more than one call it together.
 */
inline void sum_rows(thread Tile& tile, const thread Team& team, uint lane, THREADGROUP(float4) staged) {
  if (kWeightType != DTYPE_AFFINE) return sum_dense(tile, team, lane, staged);
  switch (kBits) {
    case 2:
      return sum_packed<2>(tile, team, lane, staged);
    case 3:
      return sum_packed<3>(tile, team, lane, staged);
    case 4:
      return sum_packed<4>(tile, team, lane, staged);
    case 5:
      return sum_packed<5>(tile, team, lane, staged);
    case 6:
      return sum_packed<6>(tile, team, lane, staged);
    case 8:
      return sum_packed<8>(tile, team, lane, staged);
  }
}

/** The sum over the lanes of a set, for all of them. */
inline float set_sum(float value) {
  value += simd_shuffle_xor(value, 1);
  value += simd_shuffle_xor(value, 2);
  return value + simd_shuffle_xor(value, 4);
}

/** Adds up the lanes' shares; of the squares those of this simdgroup, which saw its share of x. */
inline void finish_sums(thread Tile& tile) {
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) tile.sums[r] = set_sum(tile.sums[r]);
  if (kNorm == NORM_RMS) tile.squares = simd_sum(tile.squares);
}

/** What the sums of a normalised x are still to be multiplied by; after the whole team's squares are in. */
inline float rms_factor(thread Tile& tile, float eps) {
  return kNorm == NORM_RMS ? rsqrt(tile.squares / float(tile.columns) + eps) : 1.0f;
}
