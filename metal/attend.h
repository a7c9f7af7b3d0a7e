/** What the attention kernels share: the softmax over scores that come in parts (Milakov and Gimelshein
 * 2018). */
#pragma once

#include "activate.h"
#include "paging.h"
#include "values.h"

/** Below every score: no infinities, so that the difference of two of them is a number. */
#define LOWEST_SCORE (-1e30f)

/** First position that a row sees. */
inline uint first_seen(uint position, constant AttentionParams& p) {
  return kHasWindow && position + 1 > p.window ? position + 1 - p.window : 0;
}

inline float finish_score(float score, constant AttentionParams& p) {
  return kHasSoftcap ? soft_cap(score, p.softcap) : score;
}

/** 1 / (sum of exponentials) at the maximum `highest`, and the factor for sums taken at `highest` when a sink
 * joins. */
inline float softmax_factor(float highest, float total, uint head, DEVICE(const float) sinks) {
  if (!kHasSinks) return 1.0f / total;
  const float sink = sinks[head];
  const float joint = max(highest, sink);
  const float factor = fast::exp(highest - joint);
  return factor / (total * factor + fast::exp(sink - joint));
}

/** Writes column `column` of a head's result, times sigmoid(gate) if there is one. */
inline void store_attended(float value, uint row, uint head, uint column, DEVICE(const uchar) gate,
                           DEVICE(uchar) out, constant AttentionParams& p) {
  const uint within = head * kValueDim + column;
  if (kHasGate) value *= sigmoid(load_value(gate, kGateType, row * p.gate_stride + p.gate_column + within));
  store_value(out, kOutType, row * p.heads * kValueDim + within, value);
}

/** Behind the sums of a head over some of its keys: the maximum, the total; so many floats that what follows
 * is aligned. */
enum { SUMMARY = 4 };

inline float4 added(float4 v, float4 w, float factor) {
  return make_float4(fma(w.x, factor, v.x), fma(w.y, factor, v.y), fma(w.z, factor, v.z),
                     fma(w.w, factor, v.w));
}

inline void store_four(float4 sum, float factor, uint row, uint head, uint column, DEVICE(const uchar) gate,
                       DEVICE(uchar) out, constant AttentionParams& p) {
  store_attended(sum.x * factor, row, head, column, gate, out, p);
  store_attended(sum.y * factor, row, head, column + 1, gate, out, p);
  store_attended(sum.z * factor, row, head, column + 2, gate, out, p);
  store_attended(sum.w * factor, row, head, column + 3, gate, out, p);
}
