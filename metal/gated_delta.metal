/**
 * Gated DeltaNet (https://arxiv.org/abs/2412.06464); extension/engine/core/program.ts has the equations. A
 * sequence's state lies in its slot: the last inputs of the convolution [taps - 1, channels], and for each
 * value head a matrix [value_dim, key_dim], so that a column of the paper's matrix is contiguous.
 */
#include "delta_gates.h"

enum { MAX_TAPS = 8, MAX_KEY_VECTORS = MAX_HEAD_DIM / 32 };

inline float silu(float x) {
  return x * sigmoid(x);
}

/**
 * silu of the causal convolution of each channel, and the window moves on. A thread takes a channel through
 * CONVOLVED_ROWS rows of a sequence; the one with the first rows, which alone reads the window, also writes
 * it. Grid: channels / ELEMENT_THREADS, sequences, parts of the longest sequence.
 */
KERNEL(gated_delta_convolve, ELEMENT_THREADS)
(BUFFER(const uchar, x, 0), BUFFER(const float, conv, 1), BUFFER(const int, positions, 2),
 BUFFER(const int, offsets, 3), BUFFER(const int, state_slots, 4), BUFFER(float, inputs, 5),
 BUFFER(float, convolved, 6), PARAMS(GatedDeltaParams, p, 7), GRID) {
  const uint channel = group.x * ELEMENT_THREADS + thread_index;
  const uint first = uint(offsets[group.y]);
  const uint end = uint(offsets[group.y + 1]);
  const uint begin = first + group.z * CONVOLVED_ROWS;
  if (channel >= p.channels || begin >= end) return;
  const uint past = p.taps - 1;
  const ulong state = ulong(uint(state_slots[group.y])) * past * p.channels + channel;
  const bool is_first = group.z == 0;
  const bool is_start = positions[first] == 0;
  float window[MAX_TAPS];
  float taps[MAX_TAPS];
  UNROLL for (uint j = 0; j < MAX_TAPS; j++) {
    window[j] = 0.0f;
    taps[j] = j < p.taps ? float(conv[channel * p.taps + j]) : 0.0f;
    if (j >= past) continue;
    if (!is_first) {
      window[j] = load_value(x, kXType, (begin - past + j) * p.x_stride + channel);
    } else if (!is_start) {
      window[j] = inputs[state + ulong(j) * p.channels];
    }
  }
  for (uint row = begin; row < min(begin + CONVOLVED_ROWS, end); row++) {
    const float newest = load_value(x, kXType, row * p.x_stride + channel);
    float sum = 0.0f;
    UNROLL for (uint j = 0; j < MAX_TAPS; j++) {
      if (j == past) window[j] = newest;
      sum = fma(window[j], taps[j], sum);
    }
    convolved[row * p.channels + channel] = silu(sum);
    UNROLL for (uint j = 0; j + 1 < MAX_TAPS; j++) {
      if (j < past) window[j] = window[j + 1];
    }
  }
  if (!is_first) return;
  const bool is_whole = end - first <= CONVOLVED_ROWS;
  UNROLL for (uint j = 0; j < MAX_TAPS; j++) {
    if (j >= past) continue;
    inputs[state + ulong(j) * p.channels] =
        is_whole ? window[j] : load_value(x, kXType, (end - past + j) * p.x_stride + channel);
  }
}

/**
 * The recurrence of one column of one value head, by a simdgroup whose lanes share the key's elements, one
 * row after the other. Grid: columns / kSimdgroups, value heads, sequences.
 */
KERNEL(gated_delta_step, 256)
(BUFFER(const uchar, x, 0), BUFFER(const float, convolved, 1), BUFFER(const float, decay, 2),
 BUFFER(const float, time_bias, 3), BUFFER(const int, positions, 4), BUFFER(const int, offsets, 5),
 BUFFER(const int, state_slots, 6), BUFFER(float, matrices, 7), BUFFER(uchar, out, 8),
 PARAMS(GatedDeltaParams, p, 9), GRID) {
  const uint column = group.x * kSimdgroups + simd_index;
  if (column >= p.value_dim) return;
  const uint head = group.y;
  const uint key_head = key_head_of(head, p);
  const uint first = uint(offsets[group.z]);
  const uint end = uint(offsets[group.z + 1]);
  if (end - first >= p.chunked_rows) return;
  const ulong slot = ulong(uint(state_slots[group.z])) * p.value_heads + head;
  const ulong first_state = (slot * p.value_dim + column) * p.key_dim;
  const bool is_start = positions[first] == 0;
  float state[MAX_KEY_VECTORS];
  UNROLL for (uint j = 0; j < MAX_KEY_VECTORS; j++) {
    const uint i = j * 32 + lane;
    state[j] = i < p.key_dim && !is_start ? float(matrices[first_state + i]) : 0.0f;
  }
  const float rate = rate_of(decay, head);
  const float shift = time_bias[head];
  for (uint row = first; row < end; row++) {
    const uint queries = row * p.channels + key_head * p.key_dim;
    const uint keys = queries + p.key_heads * p.key_dim;
    const uint values = row * p.channels + 2 * p.key_heads * p.key_dim + head * p.value_dim;
    float q[MAX_KEY_VECTORS];
    float k[MAX_KEY_VECTORS];
    float q_squares = 0.0f;
    float k_squares = 0.0f;
    float recalled = 0.0f;
    UNROLL for (uint j = 0; j < MAX_KEY_VECTORS; j++) {
      const uint i = j * 32 + lane;
      q[j] = i < p.key_dim ? float(convolved[queries + i]) : 0.0f;
      k[j] = i < p.key_dim ? float(convolved[keys + i]) : 0.0f;
      q_squares = fma(q[j], q[j], q_squares);
      k_squares = fma(k[j], k[j], k_squares);
      recalled = fma(k[j], state[j], recalled);
    }
    const float q_factor = unit_factor(simd_sum(q_squares), float(p.key_dim));
    const float k_factor = unit_factor(simd_sum(k_squares), 1.0f);
    recalled = simd_sum(recalled) * k_factor;
    const float kept = kept_at(x, row, head, rate, shift, p);
    const float delta =
        written_at(x, row, head, p) * (float(convolved[values + column]) - kept * recalled) * k_factor;
    float sum = 0.0f;
    UNROLL for (uint j = 0; j < MAX_KEY_VECTORS; j++) {
      state[j] = fma(k[j], delta, kept * state[j]);
      sum = fma(q[j], state[j], sum);
    }
    sum = simd_sum(sum) * q_factor;
    if (lane == 0) store_value(out, kOutType, (row * p.value_heads + head) * p.value_dim + column, sum);
  }
  UNROLL for (uint j = 0; j < MAX_KEY_VECTORS; j++) {
    const uint i = j * 32 + lane;
    if (i < p.key_dim) matrices[first_state + i] = state[j];
  }
}
