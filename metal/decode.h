/**
 * Attention of single rows over the paged cache (flash decoding, Dao et al. 2023): a simdgroup takes every
 * few tiles of 32 keys for up to MAX_HEADS query heads of one key/value head, so keys and values are read
 * once for all of them, 16 bytes a lane. A few lanes score a key together, and their sums are exchanged so
 * that every lane ends with the scores of one key; then all lanes mix the values.
 *
 * Grid: key/value heads * ceil(head sets / sets), rows, splits. Simdgroup s of kSimdgroups works for head set
 * s % sets with part s / sets of the keys; sets = kSimdgroups / kSplit. Threadgroup memory: kSimdgroups *
 * kHeadsPerSimdgroup * (kValueDim + SUMMARY) floats.
 */
#pragma once

#include "attend.h"

enum {
  TILE_KEYS = 32,
  TILE_BLOCKS = TILE_KEYS / BLOCK_TOKENS,
  MAX_HEADS = 4,
  /** Elements of a key or value that one load brings. */
  VECTOR = 8,
  /** Registers for queries and for sums. */
  MAX_QUERIES = 32,
  MAX_SUMS = MAX_HEADS * VECTOR,
  /** Scores that are exchanged together. */
  MAX_STEPS = 8
};

/** One simdgroup's view of the cache and its sums. */
struct Reader {
  DEVICE(const uchar) keys;
  DEVICE(const uchar) values;
  DEVICE(const int) block_tables;
  uint sequence;
  uint kv_head;
  /** The row sees positions [first, position]. */
  uint first;
  uint position;
  float q[MAX_QUERIES];
  float sums[MAX_SUMS];
  float highest[MAX_HEADS];
  /** This lane's part. */
  float totals[MAX_HEADS];
};

/** Lanes that hold `vectors` vectors of a row, a power of two. */
inline uint lanes_of(uint vectors, uint most) {
  uint lanes = 2;
  while (lanes < vectors && lanes < most) lanes *= 2;
  return lanes;
}
inline uint key_lanes() {
  return lanes_of(kKeyDim / VECTOR, 16);
}
/** Vectors of a key in one lane. */
inline uint key_vectors() {
  return (kKeyDim / VECTOR + key_lanes() - 1) / key_lanes();
}
inline uint value_lanes() {
  return lanes_of(kValueDim / VECTOR, 32);
}
/** Keys of a tile that are scored, or whose values are read, at once. */
inline uint step_keys() {
  return 32 / key_lanes();
}
inline uint step_values() {
  return 32 / value_lanes();
}

/** The step of a tile whose scores this lane ends with, and the lane that has a key's. */
inline uint step_of(uint lane) {
  const uint within = lane % key_lanes();
  return key_lanes() == 16 ? within % 2 * 8 + within / 2 : within;
}
inline uint lane_of(uint key) {
  const uint step = key / step_keys();
  const uint within = key_lanes() == 16 ? step % 8 * 2 + step / 8 : step;
  return key % step_keys() * key_lanes() + within;
}

/** First rows in the pool of the tile's blocks; those past the last position read its block again. */
inline void find_blocks(const thread Reader& reader, uint tile, constant AttentionParams& p,
                        thread ulong* blocks) {
  UNROLL for (uint b = 0; b < TILE_BLOCKS; b++) {
    const uint key = min(tile * TILE_KEYS + b * BLOCK_TOKENS, reader.position);
    blocks[b] = block_row(reader.block_tables, p.blocks_per_sequence, reader.sequence, key, p.kv_heads,
                          reader.kv_head);
  }
}

/** Sums over the lanes of a key of `count` steps' shares: each lane ends with the sum of one step. */
inline float exchange(thread float* shares, uint count, uint lane) {
  uint bit = key_lanes() / 2;
  UNROLL_BY_CONSTANT for (uint half_count = count / 2; half_count > 0; half_count /= 2) {
    const bool is_upper = (lane & bit) != 0;
    UNROLL_BY_CONSTANT for (uint i = 0; i < half_count; i++) {
      const float kept = is_upper ? shares[i + half_count] : shares[i];
      const float given = is_upper ? shares[i] : shares[i + half_count];
      shares[i] = kept + simd_shuffle_xor(given, bit);
    }
    bit /= 2;
  }
  float sum = shares[0];
  UNROLL_BY_CONSTANT for (; bit > 0; bit /= 2) sum += simd_shuffle_xor(sum, bit);
  return sum;
}

/** scores[h] of the lane: of the key that `step_of` and the lane's place among its step's keys say. */
inline void score_tile(const thread Reader& reader, const thread ulong* blocks, uint lane,
                       thread float* scores) {
  const uint steps = min(key_lanes(), uint(MAX_STEPS));
  UNROLL_BY_CONSTANT for (uint first = 0; first < key_lanes(); first += steps) {
    float shares[MAX_HEADS * MAX_STEPS];
    UNROLL_BY_CONSTANT for (uint step = 0; step < steps; step++) {
      const uint key = (first + step) * step_keys() + lane / key_lanes();
      const ulong block = blocks[(first + step) * step_keys() / BLOCK_TOKENS];
      const ulong row = block + key % BLOCK_TOKENS;
      UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) shares[h * MAX_STEPS + step] = 0.0f;
      UNROLL_BY_CONSTANT for (uint i = 0; i < key_vectors(); i++) {
        const uint column = (i * key_lanes() + lane % key_lanes()) * VECTOR;
        if (kKeyDim % (key_lanes() * VECTOR) != 0 && column >= kKeyDim) break;
        float vector[VECTOR];
        load_slots8(reader.keys, row, kKeyDim, column, vector);
        UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
          float share = shares[h * MAX_STEPS + step];
          UNROLL for (uint e = 0; e < VECTOR; e++) {
            share = fma(reader.q[(h * key_vectors() + i) * VECTOR + e], vector[e], share);
          }
          shares[h * MAX_STEPS + step] = share;
        }
      }
    }
    UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
      const float score = exchange(shares + h * MAX_STEPS, steps, lane);
      if (first == 0 || lane % 2 == 1) scores[h] = score;
    }
  }
}

/** Adds the tile's keys to the sums. */
inline void attend_tile(thread Reader& reader, uint tile, const thread ulong* blocks, uint lane,
                        constant AttentionParams& p) {
  float weights[MAX_HEADS];
  score_tile(reader, blocks, lane, weights);
  const uint key = tile * TILE_KEYS + step_of(lane) * step_keys() + lane / key_lanes();
  const bool is_seen = key >= reader.first && key <= reader.position;
  UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    const float score = is_seen ? finish_score(weights[h], p) : LOWEST_SCORE;
    const float highest = max(reader.highest[h], simd_max(score));
    const float factor = fast::exp(reader.highest[h] - highest);
    weights[h] = is_seen ? fast::exp(score - highest) : 0.0f;
    reader.highest[h] = highest;
    reader.totals[h] = reader.totals[h] * factor + weights[h];
    UNROLL for (uint e = 0; e < VECTOR; e++) reader.sums[h * VECTOR + e] *= factor;
  }
  const uint column = lane % value_lanes() * VECTOR;
  const bool has_column = column < kValueDim;
  UNROLL for (uint step = 0; step < 32; step++) {
    if (step >= value_lanes()) break;
    const uint own = step * step_values() + lane / value_lanes();
    const ulong row = blocks[step * step_values() / BLOCK_TOKENS] + own % BLOCK_TOKENS;
    float weight[MAX_HEADS];
    UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
      weight[h] = simd_shuffle(weights[h], lane_of(own));
    }
    if (!has_column) continue;
    float vector[VECTOR];
    load_slots8(reader.values, row, kValueDim, column, vector);
    UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
      UNROLL for (uint e = 0; e < VECTOR; e++) {
        reader.sums[h * VECTOR + e] = fma(vector[e], weight[h], reader.sums[h * VECTOR + e]);
      }
    }
  }
}

/** Leaves the simdgroup's sums of a head in shared memory: kValueDim sums, the maximum, the total. */
inline void share_sums(const thread Reader& reader, uint h, uint lane, THREADGROUP(float) shared) {
  float sums[VECTOR];
  UNROLL for (uint e = 0; e < VECTOR; e++) {
    sums[e] = reader.sums[h * VECTOR + e];
    for (uint step = value_lanes(); step < 32; step *= 2) sums[e] += simd_shuffle_xor(sums[e], step);
  }
  const uint column = lane * VECTOR;
  if (lane < value_lanes() && column < kValueDim) {
    THREADGROUP(float4) target = AS_THREADGROUP(float4, shared + column);
    target[0] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    target[1] = make_float4(sums[4], sums[5], sums[6], sums[7]);
  }
  const float total = simd_sum(reader.totals[h]);
  if (lane == 0) {
    shared[kValueDim] = reader.highest[h];
    shared[kValueDim + 1] = total;
  }
}

/** The place of a simdgroup among those that share the work for one row and key/value head. */
struct Share {
  /** Rows of the step, and places among the rows that are decoded. */
  uint row;
  uint place;
  /** Query heads of the key/value head, the first head set of the threadgroup, and that of the simdgroup. */
  uint group_heads;
  uint first_set;
  uint set;
  /** It takes tiles first_tile, first_tile + tile_step, … */
  uint first_tile;
  uint tile_step;
};

inline uint sets_of_group() {
  return kSimdgroups / kSplit;
}

/** Where the threadgroup `group` and its simdgroup stand. */
inline void begin_share(thread Share& share, thread Reader& reader, DEVICE(const int) rows,
                        DEVICE(const int) positions, DEVICE(const int) sequence_of, uint3 group,
                        uint simd_index, constant AttentionParams& p) {
  const uint sets = sets_of_group();
  share.group_heads = p.heads / p.kv_heads;
  const uint group_sets = (share.group_heads + kHeadsPerSimdgroup - 1) / kHeadsPerSimdgroup;
  const uint set_groups = (group_sets + sets - 1) / sets;
  share.place = group.y;
  share.row = uint(rows[group.y]);
  reader.sequence = uint(sequence_of[share.row]);
  reader.kv_head = group.x / set_groups;
  reader.position = uint(positions[share.row]);
  reader.first = first_seen(reader.position, p);
  share.first_tile = reader.first / TILE_KEYS + group.z * kSplit + simd_index / sets;
  share.tile_step = p.splits * kSplit;
  // A last set that is not full works for its last head several times.
  share.first_set = group.x % set_groups * sets;
  share.set = min(share.first_set + simd_index % sets, group_sets - 1);
}

/** The query head of the simdgroup's h-th sums. */
inline uint head_of(const thread Share& share, const thread Reader& reader, uint h) {
  return reader.kv_head * share.group_heads + min(share.set * kHeadsPerSimdgroup + h, share.group_heads - 1);
}

/** Sets the lane's i-th vector of the query of the simdgroup's h-th head. */
inline void set_query(thread Reader& reader, uint h, uint i, const thread float* vector,
                      constant AttentionParams& p) {
  UNROLL for (uint e = 0; e < VECTOR; e++) {
    reader.q[(h * key_vectors() + i) * VECTOR + e] = vector[e] * p.scale;
  }
}

/** First of the lane's VECTOR columns in its i-th vector of a query; past kKeyDim: none. */
inline uint query_column(uint i, uint lane) {
  return (i * key_lanes() + lane % key_lanes()) * VECTOR;
}

/** Sums over the simdgroup's tiles; `blocks` are those of its first one. */
inline void attend_tiles(thread Reader& reader, const thread Share& share, thread ulong* blocks, uint lane,
                         constant AttentionParams& p) {
  UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    reader.highest[h] = LOWEST_SCORE;
    reader.totals[h] = 0.0f;
    UNROLL for (uint e = 0; e < VECTOR; e++) reader.sums[h * VECTOR + e] = 0.0f;
  }
  const uint last_tile = reader.position / TILE_KEYS;
  for (uint tile = share.first_tile; tile <= last_tile; tile += share.tile_step) {
    ulong next[TILE_BLOCKS];
    find_blocks(reader, tile + share.tile_step, p, next);
    attend_tile(reader, tile, blocks, lane, p);
    UNROLL for (uint b = 0; b < TILE_BLOCKS; b++) blocks[b] = next[b];
  }
}

/** A simdgroup's part of the threadgroup's memory. */
inline THREADGROUP(float) own_part(THREADGROUP(float) shared, uint simd_index) {
  return shared + simd_index * kHeadsPerSimdgroup * (kValueDim + SUMMARY);
}

/** Leaves the simdgroup's sums in its part of shared memory. */
inline void share_heads(const thread Reader& reader, uint lane, THREADGROUP(float) shared) {
  UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    share_sums(reader, h, lane, shared + h * (kValueDim + SUMMARY));
  }
}

/** The parts of each head together: the result, or a split's partial sums. */
inline void finish_heads(const thread Reader& reader, const thread Share& share, uint split,
                         DEVICE(const float) sinks, DEVICE(const uchar) gate, DEVICE(uchar) out,
                         DEVICE(float) partials, THREADGROUP(float) shared, uint lane, uint simd_index,
                         constant AttentionParams& p) {
  const uint pitch = kValueDim + SUMMARY;
  group_barrier();
  const uint units = sets_of_group() * kHeadsPerSimdgroup;
  for (uint unit = simd_index; unit < units; unit += kSimdgroups) {
    const uint in_group = share.first_set * kHeadsPerSimdgroup + unit;
    if (in_group >= share.group_heads) continue;
    const uint head = reader.kv_head * share.group_heads + in_group;
    float highest = LOWEST_SCORE;
    UNROLL_BY_CONSTANT for (uint part = 0; part < kSplit; part++) {
      highest = max(highest, shared[(part * units + unit) * pitch + kValueDim]);
    }
    float total = 0.0f;
    UNROLL_BY_CONSTANT for (uint part = 0; part < kSplit; part++) {
      const uint at = (part * units + unit) * pitch + kValueDim;
      total += shared[at + 1] * fast::exp(shared[at] - highest);
    }
    const uint partial = ((share.place * p.heads + head) * p.splits + split) * pitch;
    const float factor = p.splits == 1 ? softmax_factor(highest, total, head, sinks) : 1.0f;
    for (uint column = lane * 4; column < kValueDim; column += 128) {
      float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      UNROLL_BY_CONSTANT for (uint part = 0; part < kSplit; part++) {
        const uint at = (part * units + unit) * pitch;
        const float4 four = AS_THREADGROUP(const float4, shared + at + column)[0];
        sum = added(sum, four, fast::exp(shared[at + kValueDim] - highest));
      }
      if (p.splits == 1) {
        store_four(sum, factor, share.row, head, column, gate, out, p);
      } else {
        AS_DEVICE(float4, partials + partial + column)[0] = sum;
      }
    }
    if (p.splits > 1 && lane == 0) {
      partials[partial + kValueDim] = highest;
      partials[partial + kValueDim + 1] = total;
    }
  }
}
