/**
 * Chooses experts for each row: the logits of the router (and of the shared expert's gate, its last row) by
 * matrix-vector sums into threadgroup memory, then the scores and the best of them by one simdgroup, where
 * lane i of 32 owns experts i, i + 32, … Grid: 1, rows; kSimdgroups.
 */
#include "activate.h"
#include "matvec.h"

enum { MAX_EXPERTS = 512 };
#define CLOSED (-3.0e38f)

/** Number of the highest rank among all lanes' candidates, the lowest one among equals. */
inline uint best_of(float rank, uint index) {
  const float highest = simd_max(rank);
  return simd_min(rank == highest ? index : uint(MAX_EXPERTS));
}

/** Softmax over `count` values, each lane with its own of them. */
inline void softmax_of_lanes(THREADGROUP(float) scores, uint count, uint lane) {
  float highest = CLOSED;
  for (uint i = lane; i < count; i += 32) highest = max(highest, scores[i]);
  highest = simd_max(highest);
  float total = 0.0f;
  for (uint i = lane; i < count; i += 32) {
    const float e = exp(scores[i] - highest);
    scores[i] = e;
    total += e;
  }
  total = simd_sum(total);
  for (uint i = lane; i < count; i += 32) scores[i] = scores[i] / total;
}

/** Closes the experts of all groups but the best (DeepSeek-V2, https://arxiv.org/abs/2405.04434). */
inline void keep_best_groups(THREADGROUP(float) ranks, uint lane, constant MoeRouteParams& p) {
  const uint size = p.experts / p.groups;
  lanes_barrier();
  float rank = CLOSED;
  if (lane < p.groups) {
    float best = CLOSED;
    float second = CLOSED;
    for (uint i = lane * size; i < (lane + 1) * size; i++) {
      const float value = ranks[i];
      second = max(second, min(value, best));
      best = max(best, value);
    }
    rank = kGroupRank == GROUPS_TOP2_SUM ? best + (size > 1 ? second : 0.0f) : best;
  }
  lanes_barrier();
  uint kept = 0;
  for (uint i = 0; i < p.kept_groups; i++) {
    const uint group = best_of(rank, lane);
    kept |= 1u << (group % 32);
    if (lane == group) rank = CLOSED;
  }
  for (uint i = lane; i < p.experts; i += 32) {
    if ((kept >> (i / size) & 1) == 0) ranks[i] = CLOSED;
  }
}

KERNEL(moe_route, 512)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, norm_bias, 5),
 BUFFER(const float, bias, 6), BUFFER(const float, correction, 7), BUFFER(float, out, 8),
 PARAMS(MoeRouteParams, p, 9), GRID) {
  THREADGROUP_ARRAY(float, scores, MAX_EXPERTS + 1);
  THREADGROUP_ARRAY(float, ranks, MAX_EXPERTS);
  // Up to 16 simdgroups.
  THREADGROUP_ARRAY(float4, staged, 16 * STAGED);
  const uint row = group.y;
  const uint logits = p.experts + (kHasShared ? 1 : 0);
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
  tile.writes_join = false;
  read_statistics(tile, p.eps, 0.0f, scores, lane, simd_index);
  const Team alone = {0, 1, 0, 1};
  const uint tile_rows = SETS * kLaneRows;
  const uint own_row = lane / SET_LANES * kLaneRows;
  for (uint first = simd_index * tile_rows; first < logits; first += kSimdgroups * tile_rows) {
    tile.squares = 0.0f;
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      tile.rows[r] = min(first + own_row + r, logits - 1);
      tile.sums[r] = 0.0f;
    }
    sum_rows(tile, alone, lane, staged + simd_index * STAGED);
    finish_sums(tile);
    const float factor = rms_factor(tile, p.eps);
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      const uint expert = first + own_row + r;
      if (lane % SET_LANES != r || expert >= logits) continue;
      float logit = tile.sums[r] * factor;
      if (kHasBias && expert < p.experts) logit += bias[expert];
      scores[expert] = logit;
    }
  }
  group_barrier();
  if (simd_index > 0) return;

  if (kScores == SCORES_SOFTMAX) softmax_of_lanes(scores, p.experts, lane);
  for (uint i = lane; i < p.experts; i += 32) {
    const float score = kScores == SCORES_SIGMOID ? sigmoid(scores[i]) : float(scores[i]);
    scores[i] = score;
    ranks[i] = kHasCorrection ? score + correction[i] : score;
  }
  if (kGroupRank != GROUPS_NONE) keep_best_groups(ranks, lane, p);
  // Lane k keeps the k-th choice.
  uint chosen = 0;
  float own = 0.0f;
  for (uint k = 0; k < p.top_k; k++) {
    float rank = CLOSED;
    uint candidate = lane;
    for (uint i = lane; i < p.experts; i += 32) {
      if (ranks[i] <= rank) continue;
      rank = ranks[i];
      candidate = i;
    }
    const uint expert = min(best_of(rank, candidate), p.experts - 1);
    // Only the owner knows the score.
    const float score = simd_sum(expert % 32 == lane ? float(scores[expert]) : 0.0f);
    if (expert % 32 == lane) ranks[expert] = CLOSED;
    if (lane == k) {
      chosen = expert;
      own = score;
    }
  }
  const bool has_choice = lane < p.top_k;
  if (kScores == SCORES_SOFTMAX_OF_CHOSEN) {
    const float highest = simd_max(has_choice ? own : CLOSED);
    own = has_choice ? exp(own - highest) : 0.0f;
    own /= simd_sum(own);
  }
  const float total = simd_sum(has_choice ? own : 0.0f);
  own *= kIsNormalized ? p.factor / total : p.factor;
  const uint first_out = row * (2 * p.top_k + 1);
  if (has_choice) {
    out[first_out + lane] = float(chosen);
    out[first_out + p.top_k + lane] = own;
  }
  lanes_barrier();
  if (lane == 0) out[first_out + 2 * p.top_k] = kHasShared ? sigmoid(scores[p.experts]) : 1.0f;
}
