/**
 * The gated delta rule for many rows of a sequence, DELTA_CHUNK rows at a time as matrix products (Yang et
 * al. 2024, https://arxiv.org/abs/2406.06484 and https://arxiv.org/abs/2412.06464). In a chunk that begins
 * with state S, row t keeps a(t) of the state before it and writes b(t) of its error d(t); D(t, j) is the
 * product of a(j + 1) … a(t), and D(t) that of a(0) … a(t). The rows of the errors then solve
 *
 *   d(t) + Σ_{j < t} b(t) D(t, j) (k(t) · k(j)) d(j) = b(t) (v(t) - D(t) Sᵀ k(t)),
 *
 * whose left side does not depend on S: `gated_delta_prepare` inverts it for all chunks at once, and
 * `gated_delta_chunk` goes from chunk to chunk with
 *
 *   d = solved · (v - D K S),   out = D Q S + scores · d,   S = D(last) S + Kᵀ (left d),
 *
 * scores(t, j) = D(t, j) q(t) · k(j) for j <= t, left(j) = D(last, j). All decays are products of factors of
 * at most 1, each from its first one on, so that none of them overflows or is a quotient of two that
 * vanished. Rows past the end keep all and write nothing.
 */
#include "delta_gates.h"

enum {
  CHUNK_PITCH = MAX_CHUNK_KEY_DIM + 8,
  CHUNK_TILES = DELTA_CHUNK / 8,
  KEY_LANES = MAX_CHUNK_KEY_DIM / 32
};
/** The keys of a chunk follow its queries. */
enum { CHUNK_KEYS = DELTA_CHUNK * (MAX_CHUNK_KEY_DIM + 8) };

/** Rows of a chunk of a sequence; 0: the sequence goes row by row, or ends before. */
inline uint rows_in_chunk(DEVICE(const int) offsets, uint sequence, uint chunk,
                          constant GatedDeltaParams& p) {
  const uint rows = uint(offsets[sequence + 1]) - uint(offsets[sequence]);
  if (rows < p.chunked_rows || rows <= chunk * DELTA_CHUNK) return 0;
  return min(rows - chunk * DELTA_CHUNK, uint(DELTA_CHUNK));
}

/** Where what is prepared of a value head in a chunk begins. */
inline ulong prepared_at(DEVICE(const int) offsets, uint sequence, uint chunk, uint head,
                         constant GatedDeltaParams& p) {
  const uint index = uint(offsets[sequence]) / CHUNK_SPACING + chunk;
  return (ulong(index) * p.value_heads + head) * CHUNK_FLOATS;
}

/** products (t, j) = left(t) · right(j): a simdgroup makes one 8 × 8 part of it. */
inline void multiply_rows(THREADGROUP(const float) left, THREADGROUP(const float) right,
                          THREADGROUP(float) products, uint lane, uint simd_index) {
  const uint row = simd_index / CHUNK_TILES * 8;
  const uint column = simd_index % CHUNK_TILES * 8;
  simdgroup_matrix<float, 8, 8> sum;
  simdgroup_fill(sum, 0.0f);
  UNROLL_BY_CONSTANT for (uint k = 0; k < kKeyDim; k += 8) {
    simdgroup_matrix<float, 8, 8> a, b;
    simdgroup_load(a, left + row * CHUNK_PITCH + k, CHUNK_PITCH);
    simdgroup_load_transposed(b, right + column * CHUNK_PITCH + k, CHUNK_PITCH);
    simdgroup_multiply_accumulate(sum, a, b, sum);
  }
  UNROLL for (uint e = 0; e < 2; e++) {
    const uint target = (row + fragment_row(lane)) * DELTA_CHUNK + column + fragment_column(lane) + e;
    products[target] = sum.thread_elements()[e];
  }
}

/**
 * Of a value head by 16 lanes: lane j makes column j of what the next kernel multiplies with. `gains` is
 * memory of these lanes, [DELTA_CHUNK, DELTA_CHUNK].
 */
inline void prepare_head(float kept, float written, THREADGROUP(const float) recalls,
                         THREADGROUP(const float) reads, THREADGROUP(float) gains, DEVICE(float) prepared,
                         bool is_head, uint lane) {
  const uint j = lane % DELTA_CHUNK;
  const uint first_lane = lane - j;
  float decay = 1.0f;
  float total = 1.0f;
  UNROLL for (uint t = 0; t < DELTA_CHUNK; t++) {
    const float kept_here = simd_shuffle(kept, first_lane + t);
    const float written_here = simd_shuffle(written, first_lane + t);
    if (t <= j) total *= kept_here;
    if (t > j) decay *= kept_here;
    gains[t * DELTA_CHUNK + j] = t > j ? written_here * decay * recalls[t * DELTA_CHUNK + j] : 0.0f;
    if (is_head) {
      prepared[CHUNK_SCORES + t * DELTA_CHUNK + j] = t >= j ? decay * reads[t * DELTA_CHUNK + j] : 0.0f;
    }
  }
  lanes_barrier();
  float column[DELTA_CHUNK];
  UNROLL for (uint t = 0; t < DELTA_CHUNK; t++) {
    float sum = t == j ? 1.0f : 0.0f;
    UNROLL for (uint m = 0; m < t; m++) sum = fma(-float(gains[t * DELTA_CHUNK + m]), column[m], sum);
    column[t] = sum;
    if (is_head) prepared[CHUNK_SOLVED + t * DELTA_CHUNK + j] = sum * written;
  }
  if (is_head) {
    prepared[CHUNK_KEPT + j] = total;
    prepared[CHUNK_LEFT + j] = decay;
  }
  lanes_barrier();
}

/**
 * Norms the queries and keys of a chunk in place and prepares its value heads. Grid: chunks of the longest
 * sequence, key heads, sequences; 4 simdgroups.
 */
KERNEL(gated_delta_prepare, 128)
(BUFFER(const uchar, x, 0), BUFFER(float, convolved, 1), BUFFER(const float, decay, 2),
 BUFFER(const float, time_bias, 3), BUFFER(const int, offsets, 4), BUFFER(float, prepared, 5),
 PARAMS(GatedDeltaParams, p, 6), GRID) {
  THREADGROUP_ARRAY(float, vectors, 2 * DELTA_CHUNK * CHUNK_PITCH);
  THREADGROUP_ARRAY(float, products, 2 * DELTA_CHUNK * DELTA_CHUNK);
  THREADGROUP_ARRAY(float, gains, 8 * DELTA_CHUNK * DELTA_CHUNK);
  const uint count = rows_in_chunk(offsets, group.z, group.x, p);
  if (count == 0) return;
  const uint first_row = uint(offsets[group.z]) + group.x * DELTA_CHUNK;
  const uint key_head = group.y;
  for (uint i = simd_index; i < 2 * DELTA_CHUNK; i += 4) {
    const bool is_key = i >= DELTA_CHUNK;
    const uint row = i % DELTA_CHUNK;
    const uint source = (first_row + row) * p.channels + ((is_key ? p.key_heads : 0) + key_head) * p.key_dim;
    float values[KEY_LANES];
    float squares = 0.0f;
    UNROLL for (uint c = 0; c < KEY_LANES; c++) {
      const uint column = c * 32 + lane;
      values[c] = row < count && column < p.key_dim ? float(convolved[source + column]) : 0.0f;
      squares = fma(values[c], values[c], squares);
    }
    const float factor = unit_factor(simd_sum(squares), is_key ? 1.0f : float(p.key_dim));
    UNROLL for (uint c = 0; c < KEY_LANES; c++) {
      const uint column = c * 32 + lane;
      vectors[i * CHUNK_PITCH + column] = values[c] * factor;
      if (row < count && column < p.key_dim) convolved[source + column] = values[c] * factor;
    }
  }
  group_barrier();
  THREADGROUP(const float) keys = vectors + CHUNK_KEYS;
  multiply_rows(keys, keys, products, lane, simd_index);
  multiply_rows(vectors, keys, products + DELTA_CHUNK * DELTA_CHUNK, lane, simd_index);
  group_barrier();

  const uint heads = p.value_heads / p.key_heads;
  const uint row = lane % DELTA_CHUNK;
  for (uint first = 2 * simd_index; first < heads; first += 8) {
    const uint own = first + lane / DELTA_CHUNK;
    const uint head = value_head_of(key_head, min(own, heads - 1), p);
    float kept = 1.0f;
    float written = 0.0f;
    if (row < count) {
      kept = kept_at(x, first_row + row, head, rate_of(decay, head), time_bias[head], p);
      written = written_at(x, first_row + row, head, p);
    }
    prepare_head(kept, written, products, products + DELTA_CHUNK * DELTA_CHUNK,
                 gains + (2 * simd_index + lane / DELTA_CHUNK) * (DELTA_CHUNK * DELTA_CHUNK),
                 prepared + prepared_at(offsets, group.z, group.x, head, p), own < heads, lane);
  }
}

/** What a threadgroup reads of a chunk. */
inline void stage_chunk(DEVICE(const float) convolved, DEVICE(const float) prepared, uint first_row,
                        uint count, uint key_head, constant GatedDeltaParams& p, THREADGROUP(float) vectors,
                        THREADGROUP(float) staged, uint thread_index, uint lane, uint simd_index) {
  for (uint i = simd_index; i < 2 * DELTA_CHUNK; i += 4) {
    const uint row = i % DELTA_CHUNK;
    const uint source =
        (first_row + row) * p.channels + ((i >= DELTA_CHUNK ? p.key_heads : 0) + key_head) * p.key_dim;
    UNROLL for (uint c = 0; c < KEY_LANES; c++) {
      const uint column = c * 32 + lane;
      vectors[i * CHUNK_PITCH + column] =
          row < count && column < p.key_dim ? float(convolved[source + column]) : 0.0f;
    }
  }
  for (uint i = thread_index; i < CHUNK_FLOATS; i += 128) staged[i] = prepared[i];
}

/**
 * Goes through the chunks of a sequence; a simdgroup keeps 8 columns of the state of a value head, [key,
 * value] in 8 × 8 matrices. Grid: columns / 32, value heads, sequences; 4 simdgroups.
 */
KERNEL(gated_delta_chunk, 128)
(BUFFER(const float, convolved, 0), BUFFER(const float, prepared, 1), BUFFER(const int, positions, 2),
 BUFFER(const int, offsets, 3), BUFFER(const int, state_slots, 4), BUFFER(float, matrices, 5),
 BUFFER(uchar, out, 6), PARAMS(GatedDeltaParams, p, 7), GRID) {
  THREADGROUP_ARRAY(float, vectors, 2 * DELTA_CHUNK * CHUNK_PITCH);
  THREADGROUP_ARRAY(float, staged, CHUNK_FLOATS);
  const uint head = group.y;
  const uint key_head = key_head_of(head, p);
  const uint row = fragment_row(lane);
  const uint column = group.x * 32 + simd_index * 8 + fragment_column(lane);
  uint count = rows_in_chunk(offsets, group.z, 0, p);
  if (count == 0) return;
  uint first_row = uint(offsets[group.z]);
  const bool is_start = positions[first_row] == 0;
  const ulong slot = ulong(uint(state_slots[group.z])) * p.value_heads + head;
  simdgroup_matrix<float, 8, 8> state[MAX_CHUNK_KEY_DIM / 8];
  UNROLL_BY_CONSTANT for (uint c = 0; c < (kKeyDim + 7) / 8; c++) {
    UNROLL for (uint e = 0; e < 2; e++) {
      const bool is_inside = column + e < p.value_dim && 8 * c + row < p.key_dim;
      state[c].thread_elements()[e] =
          is_inside && !is_start
              ? float(matrices[(slot * p.value_dim + column + e) * p.key_dim + 8 * c + row])
              : 0.0f;
    }
  }

  THREADGROUP(const float) queries = vectors;
  THREADGROUP(const float) keys = vectors + CHUNK_KEYS;
  for (uint chunk = 0; count > 0; chunk++) {
    group_barrier();
    stage_chunk(convolved, prepared + prepared_at(offsets, group.z, chunk, head, p), first_row, count,
                key_head, p, vectors, staged, thread_index, lane, simd_index);
    group_barrier();
    simdgroup_matrix<float, 8, 8> errors[CHUNK_TILES], read[CHUNK_TILES], deltas[CHUNK_TILES];
    UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
      simdgroup_fill(errors[i], 0.0f);
      simdgroup_fill(read[i], 0.0f);
      simdgroup_fill(deltas[i], 0.0f);
    }
    UNROLL_BY_CONSTANT for (uint c = 0; c < (kKeyDim + 7) / 8; c++) {
      UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
        simdgroup_matrix<float, 8, 8> key, query;
        simdgroup_load(key, keys + 8 * i * CHUNK_PITCH + 8 * c, CHUNK_PITCH);
        simdgroup_load(query, queries + 8 * i * CHUNK_PITCH + 8 * c, CHUNK_PITCH);
        simdgroup_multiply_accumulate(errors[i], key, state[c], errors[i]);
        simdgroup_multiply_accumulate(read[i], query, state[c], read[i]);
      }
    }
    UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
      const float kept = staged[CHUNK_KEPT + 8 * i + row];
      UNROLL for (uint e = 0; e < 2; e++) {
        const bool is_inside = 8 * i + row < count && column + e < p.value_dim;
        const uint value = (first_row + 8 * i + row) * p.channels + 2 * p.key_heads * p.key_dim +
                           head * p.value_dim + column + e;
        const float wanted = is_inside ? float(convolved[value]) : 0.0f;
        const float recalled = errors[i].thread_elements()[e];
        errors[i].thread_elements()[e] = wanted - kept * recalled;
        read[i].thread_elements()[e] *= kept;
      }
    }
    // The part above the diagonal is zero.
    UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
      UNROLL for (uint j = 0; j <= i; j++) {
        simdgroup_matrix<float, 8, 8> left;
        simdgroup_load(left, staged + CHUNK_SOLVED + 8 * i * DELTA_CHUNK + 8 * j, DELTA_CHUNK);
        simdgroup_multiply_accumulate(deltas[i], left, errors[j], deltas[i]);
      }
      UNROLL for (uint j = 0; j <= i; j++) {
        simdgroup_matrix<float, 8, 8> left;
        simdgroup_load(left, staged + CHUNK_SCORES + 8 * i * DELTA_CHUNK + 8 * j, DELTA_CHUNK);
        simdgroup_multiply_accumulate(read[i], left, deltas[j], read[i]);
      }
    }
    UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
      UNROLL for (uint e = 0; e < 2; e++) {
        deltas[i].thread_elements()[e] *= float(staged[CHUNK_LEFT + 8 * i + row]);
        if (8 * i + row >= count || column + e >= p.value_dim) continue;
        const uint target = ((first_row + 8 * i + row) * p.value_heads + head) * p.value_dim + column + e;
        store_value(out, kOutType, target, read[i].thread_elements()[e]);
      }
    }
    const float kept = staged[CHUNK_LEFT - 1];
    UNROLL_BY_CONSTANT for (uint c = 0; c < (kKeyDim + 7) / 8; c++) {
      UNROLL for (uint e = 0; e < 2; e++) state[c].thread_elements()[e] *= kept;
      UNROLL for (uint i = 0; i < CHUNK_TILES; i++) {
        simdgroup_matrix<float, 8, 8> key;
        simdgroup_load_transposed(key, keys + 8 * i * CHUNK_PITCH + 8 * c, CHUNK_PITCH);
        simdgroup_multiply_accumulate(state[c], key, deltas[i], state[c]);
      }
    }
    first_row += count;
    count = rows_in_chunk(offsets, group.z, chunk + 1, p);
  }
  UNROLL_BY_CONSTANT for (uint c = 0; c < (kKeyDim + 7) / 8; c++) {
    UNROLL for (uint e = 0; e < 2; e++) {
      if (column + e >= p.value_dim || 8 * c + row >= p.key_dim) continue;
      matrices[(slot * p.value_dim + column + e) * p.key_dim + 8 * c + row] = state[c].thread_elements()[e];
    }
  }
}
