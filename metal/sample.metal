/**
 * Draws a token from each of some rows of logits, the mask first: temperature, top-k, top-p (Holtzman et al.
 * 2020), min-p (Nguyen et al. 2024), in this order, as extension/engine/generation/sampler.ts does it with
 * the same random number. Nothing is sorted: of the head of the order, a few hundred tokens, each finds how
 * many are before it; what the head does not decide is found by counting and weighing the whole row some
 * times (falling.h). Grid: 1, draws.
 */
#include "falling.h"
#include "philox.h"

#define NO_TOKEN 0xffffffffu
/** 1 / T is a number for those above. */
#define SMALLEST_TEMPERATURE 1e-30f

enum {
  /** Most tokens of the head: a thread has one. */
  HEAD = SAMPLE_THREADS,
  /** The head begins at the logit that so many threads have seen something above or at. */
  HEAD_THREADS = 224
};

/** What a draw asks for, and the sums over all tokens that have a weight. */
struct Wish {
  uint top_k;
  float top_p;
  float min_p;
  float number;
  uint count;
  float mass;
};

/** Whether top-k leaves some tokens out. */
inline bool has_top_k(thread const Wish& wish) {
  return wish.top_k > 0 && wish.top_k < wish.count;
}

/**
 * The drawn token from the first `count` ones of the order, which lie in logits and ids in any order;
 * NO_TOKEN when they do not decide it.
 */
inline uint draw_from_head(thread const Row& row, thread const Wish& wish, uint count,
                           THREADGROUP(float) logits, THREADGROUP(uint) ids,
                           thread const PrefixMemory& memory, uint thread_index, uint lane, uint simd_index) {
  THREADGROUP(float) scratch = memory.masses;
  const bool is_there = thread_index < count;
  float logit = is_there ? float(logits[thread_index]) : no_logit();
  uint id = is_there ? uint(ids[thread_index]) : 0;
  const ulong place = place_of(logit, id);
  uint rank = 0;
  for (uint i = 0; i < count; i++) rank += place_of(logits[i], ids[i]) < place ? 1 : 0;
  group_barrier();
  if (is_there) {
    logits[rank] = logit;
    ids[rank] = id;
  }
  group_barrier();

  // From here on a thread has the token of its rank.
  logit = is_there ? float(logits[thread_index]) : no_logit();
  const float weight = is_there ? weight_of(row, logit) : 0.0f;
  const float before = group_prefix_sum(weight, scratch, lane, simd_index, SAMPLE_SIMDGROUPS);
  const bool is_all = count == wish.count;

  if (has_top_k(wish) && wish.top_k > count) return NO_TOKEN;
  const bool is_in_k = is_there && (!has_top_k(wish) || thread_index < wish.top_k);
  const float mass_of_k = group_sum(is_in_k ? weight : 0.0f, scratch, lane, simd_index, SAMPLE_SIMDGROUPS);
  const float target_of_p = wish.top_p * (has_top_k(wish) ? mass_of_k : wish.mass);
  const bool is_in_p = wish.top_p >= 1.0f || before < target_of_p;
  const bool is_kept = is_in_k && (thread_index == 0 || (is_in_p && weight >= wish.min_p));
  const uint kept = group_sum(is_kept ? 1u : 0u, memory.counts, lane, simd_index, SAMPLE_SIMDGROUPS);
  // Whether more are kept than the head has.
  const bool is_open = kept == count && !is_all && !(has_top_k(wish) && wish.top_k == count);
  if (is_open && (wish.top_p < 1.0f || wish.min_p > 0.0f)) return NO_TOKEN;
  const float mass = group_sum(is_kept ? weight : 0.0f, scratch, lane, simd_index, SAMPLE_SIMDGROUPS);
  const float target = wish.number * (is_open ? wish.mass : mass);
  const uint passed = group_sum(is_kept && before + weight < target ? 1u : 0u, memory.counts, lane,
                                simd_index, SAMPLE_SIMDGROUPS);
  if (is_open && passed >= kept) return NO_TOKEN;
  return ids[min(passed, kept - 1)];
}

/** The drawn token is the one between two prefixes of the whole row. */
inline void draw_from_row(thread const Row& row, thread const Wish& wish, thread Prefix& low,
                          thread Prefix& high, thread const PrefixMemory& memory, uint thread_index,
                          uint lane, uint simd_index) {
  Prefix none;
  none.end = 0;
  none.count = 0;
  none.mass = 0.0f;
  high.end = ~ulong(0);
  high.count = wish.count;
  high.mass = wish.mass;
  if (has_top_k(wish)) {
    low = none;
    find_prefix(row, true, float(wish.top_k), low, high, memory, thread_index, lane, simd_index);
  }
  if (wish.top_p < 1.0f) {
    low = none;
    const float target = max(wish.top_p * high.mass, SMALLEST_MASS);
    find_prefix(row, false, target, low, high, memory, thread_index, lane, simd_index);
  }
  if (wish.min_p > 0.0f) {
    uint count = 0;
    float mass = 0.0f;
    uint last = 0;
    for (uint first = thread_index; first < row.columns; first += TURN) {
      float logits[LOADS];
      load_logits(row, first, logits);
      UNROLL for (uint i = 0; i < LOADS; i++) {
        if (!has_weight(row, logits[i])) continue;
        const ulong place = place_of(logits[i], first + i * SAMPLE_THREADS);
        const float weight = weight_of(row, logits[i]);
        if (place >= high.end || weight < wish.min_p) continue;
        count += 1;
        mass += weight;
        last = max(last, uint(place >> 32));
      }
    }
    high.count = group_sum(count, memory.counts, lane, simd_index, SAMPLE_SIMDGROUPS);
    high.mass = group_sum(mass, memory.masses, lane, simd_index, SAMPLE_SIMDGROUPS);
    // Those of the last logit are kept all, but those that were left out before.
    last = group_max(last, memory.counts, lane, simd_index, SAMPLE_SIMDGROUPS);
    const ulong end = (ulong(last) + 1) << 32;
    if (end < high.end) high.end = end;
  }
  low = none;
  const float target = max(wish.number * high.mass, SMALLEST_MASS);
  find_prefix(row, false, target, low, high, memory, thread_index, lane, simd_index);
}

KERNEL(sample, SAMPLE_THREADS)
(BUFFER(const float, logits, 0), BUFFER(const uint, draws, 1), BUFFER(const uint, masks, 2),
 BUFFER(int, ids, 3), PARAMS(SampleParams, p, 4), GRID) {
  THREADGROUP_ARRAY(float, head_logits, HEAD);
  THREADGROUP_ARRAY(uint, head_ids, HEAD);
  THREADGROUP_ARRAY(float, masses, PIVOTS* SAMPLE_SIMDGROUPS);
  THREADGROUP_ARRAY(uint, counts, PIVOTS * SAMPLE_SIMDGROUPS);
  THREADGROUP_ARRAY(atomic_uint, head_count, 1);
  DEVICE(const uint) draw = draws + group.y * DRAW_WORDS;
  PrefixMemory memory;
  memory.masses = masses;
  memory.counts = counts;
  Row row;
  row.logits = logits + ulong(draw[DRAW_ROW]) * p.stride;
  row.has_mask = draw[DRAW_MASK] > 0;
  row.mask = masks + (row.has_mask ? draw[DRAW_MASK] - 1 : 0) * p.mask_words;
  row.columns = p.columns;
  row.temperature = as_type<float>(draw[DRAW_TEMPERATURE]);
  row.inverse_temperature = 1.0f / max(row.temperature, SMALLEST_TEMPERATURE);

  float highest = no_logit();
  uint highest_id = NO_TOKEN;
  for (uint first = thread_index; first < p.columns; first += TURN) {
    float own[LOADS];
    load_logits(row, first, own);
    UNROLL for (uint i = 0; i < LOADS; i++) {
      if (!(own[i] > highest)) continue;
      highest = own[i];
      highest_id = first + i * SAMPLE_THREADS;
    }
  }
  row.best = group_max(highest, memory.masses, lane, simd_index, SAMPLE_SIMDGROUPS);
  if (row.temperature == 0.0f || !(fabs(row.best) <= LARGEST_FLOAT)) {
    const uint first = group_min(highest == row.best ? highest_id : uint(NO_TOKEN), memory.counts, lane,
                                 simd_index, SAMPLE_SIMDGROUPS);
    if (thread_index == 0) ids[draw[DRAW_ROW]] = fabs(row.best) <= LARGEST_FLOAT ? int(first) : -1;
    return;
  }

  // The head: all that stand as high as what HEAD_THREADS threads have seen.
  head_logits[thread_index] = highest;
  if (thread_index == 0) atomic_set(head_count, 0);
  group_barrier();
  uint above = 0;
  for (uint i = 0; i < SAMPLE_THREADS; i++) {
    const float other = head_logits[i];
    above += other > highest || (other == highest && i < thread_index) ? 1 : 0;
  }
  if (above == HEAD_THREADS - 1) masses[0] = highest;
  group_barrier();
  const float least = p.columns <= HEAD ? no_logit() : float(masses[0]);
  group_barrier();

  Wish wish;
  wish.top_k = draw[DRAW_TOP_K];
  wish.top_p = as_type<float>(draw[DRAW_TOP_P]);
  wish.min_p = as_type<float>(draw[DRAW_MIN_P]);
  wish.number =
      uniform_number(draw[DRAW_SEED_LOW], draw[DRAW_SEED_HIGH], draw[DRAW_INDEX_LOW], draw[DRAW_INDEX_HIGH]);
  uint count = 0;
  float mass = 0.0f;
  for (uint first = thread_index; first < p.columns; first += TURN) {
    float own[LOADS];
    load_logits(row, first, own);
    UNROLL for (uint i = 0; i < LOADS; i++) {
      if (!has_weight(row, own[i])) continue;
      count += 1;
      mass += weight_of(row, own[i]);
      if (own[i] < least) continue;
      const uint at = atomic_add(head_count, 1);
      if (at >= HEAD) continue;
      head_logits[at] = own[i];
      head_ids[at] = first + i * SAMPLE_THREADS;
    }
  }
  wish.count = group_sum(count, memory.counts, lane, simd_index, SAMPLE_SIMDGROUPS);
  wish.mass = group_sum(mass, memory.masses, lane, simd_index, SAMPLE_SIMDGROUPS);
  const uint in_head = atomic_get(head_count);
  if (in_head <= HEAD) {
    const uint id =
        draw_from_head(row, wish, in_head, head_logits, head_ids, memory, thread_index, lane, simd_index);
    if (id != NO_TOKEN) {
      if (thread_index == 0) ids[draw[DRAW_ROW]] = int(id);
      return;
    }
  }
  Prefix low;
  Prefix high;
  draw_from_row(row, wish, low, high, memory, thread_index, lane, simd_index);
  for (uint id = thread_index; id < p.columns; id += SAMPLE_THREADS) {
    const float logit = logit_of(row, id);
    if (!has_weight(row, logit)) continue;
    const ulong place = place_of(logit, id);
    if (place >= low.end && place < high.end) ids[draw[DRAW_ROW]] = int(id);
  }
}
