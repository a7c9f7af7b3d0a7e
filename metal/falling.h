/**
 * The tokens of a row in the order of falling logit, the lower id first among equals, without a sort: a place
 * in that order is a number, and how many tokens or how much mass come before a place is one pass over the
 * row.
 */
#pragma once

#include "msl.h"
#include "params.h"
#include "reduce.h"

enum {
  SAMPLE_SIMDGROUPS = SAMPLE_THREADS / 32,
  /** Places of one pass. */
  PIVOTS = 8,
  /** Logits that a thread asks for at once. */
  LOADS = 8,
  /** From one of a thread's first logits to those of its next turn. */
  TURN = LOADS * SAMPLE_THREADS
};

/** Weights below exp(-RANGE) of the largest vanish in sums; such tokens are not in the order. */
#define RANGE 30.0f
#define LARGEST_FLOAT 3.40282347e38f
/** Below every weight and above nothing: a prefix that reaches it has a token. */
#define SMALLEST_MASS 1e-30f

struct Row {
  DEVICE(const float) logits;
  /** Bit id % 32 of word id / 32; read when has_mask. */
  DEVICE(const uint) mask;
  bool has_mask;
  uint columns;
  /** The largest logit. */
  float best;
  float temperature;
  float inverse_temperature;
};

inline float no_logit() {
  return as_type<float>(0xff800000u);
}

/** -infinity where the token is ruled out. */
inline float logit_of(thread const Row& row, uint id) {
  if (row.has_mask && (row.mask[id / 32] >> (id % 32) & 1) == 0) return no_logit();
  return row.logits[id];
}

/** Of the tokens first, first + SAMPLE_THREADS, …; no logits past the last token. */
inline void load_logits(thread const Row& row, uint first, thread float* logits) {
  UNROLL for (uint i = 0; i < LOADS; i++) {
    const uint id = first + i * SAMPLE_THREADS;
    logits[i] = id < row.columns ? logit_of(row, id) : no_logit();
  }
}

/** Whether a logit is in the order: a number near enough to the largest. */
inline bool has_weight(thread const Row& row, float logit) {
  return row.best - logit < RANGE * row.temperature;
}

/** In units of the largest weight. */
inline float weight_of(thread const Row& row, float logit) {
  return fast::exp((logit - row.best) * row.inverse_temperature);
}

/** Rises as a token stands later. */
inline ulong place_of(float logit, uint id) {
  // Both zeros are one.
  const uint bits = as_type<uint>(logit + 0.0f);
  const uint rising = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return ulong(~rising) << 32 | ulong(id);
}

/** The tokens before a place. */
struct Prefix {
  ulong end;
  uint count;
  float mass;
};

/** Threadgroup memory of `find_prefix`, [PIVOTS][SAMPLE_SIMDGROUPS] each. */
struct PrefixMemory {
  THREADGROUP(float) masses;
  THREADGROUP(uint) counts;
};

/**
 * Narrows the tokens between two prefixes until one is left, the first at which the count (or the mass) of
 * all up to it reaches `target`; `high` ends behind it then, `low` before it. `high` reaches the target. All
 * threads get the same.
 */
inline void find_prefix(thread const Row& row, bool is_count, float target, thread Prefix& low,
                        thread Prefix& high, thread const PrefixMemory& memory, uint thread_index, uint lane,
                        uint simd_index) {
  while (high.count - low.count > 1) {
    const ulong gap = high.end - low.end;
    const ulong step = gap > PIVOTS ? gap / (PIVOTS + 1) : 1;
    ulong ends[PIVOTS];
    uint counts[PIVOTS];
    float masses[PIVOTS];
    UNROLL for (uint i = 0; i < PIVOTS; i++) {
      ends[i] = step * (i + 1) < gap ? low.end + step * (i + 1) : high.end;
      counts[i] = 0;
      masses[i] = 0.0f;
    }
    for (uint first = thread_index; first < row.columns; first += TURN) {
      float logits[LOADS];
      load_logits(row, first, logits);
      UNROLL for (uint j = 0; j < LOADS; j++) {
        if (!has_weight(row, logits[j])) continue;
        const float weight = weight_of(row, logits[j]);
        const ulong place = place_of(logits[j], first + j * SAMPLE_THREADS);
        UNROLL for (uint i = 0; i < PIVOTS; i++) {
          counts[i] += place < ends[i] ? 1 : 0;
          masses[i] += place < ends[i] ? weight : 0.0f;
        }
      }
    }
    UNROLL for (uint i = 0; i < PIVOTS; i++) {
      const uint count = simd_sum(counts[i]);
      const float mass = simd_sum(masses[i]);
      if (lane == 0) {
        memory.counts[i * SAMPLE_SIMDGROUPS + simd_index] = count;
        memory.masses[i * SAMPLE_SIMDGROUPS + simd_index] = mass;
      }
    }
    group_barrier();
    bool is_found = false;
    UNROLL for (uint i = 0; i < PIVOTS; i++) {
      Prefix pivot;
      pivot.end = ends[i];
      pivot.count = 0;
      pivot.mass = 0.0f;
      for (uint s = 0; s < SAMPLE_SIMDGROUPS; s++) {
        pivot.count += memory.counts[i * SAMPLE_SIMDGROUPS + s];
        pivot.mass += memory.masses[i * SAMPLE_SIMDGROUPS + s];
      }
      if (is_found) continue;
      is_found = is_count ? float(pivot.count) >= target : pivot.mass >= target;
      if (is_found) {
        high = pivot;
      } else {
        low = pivot;
      }
    }
    group_barrier();
  }
}
