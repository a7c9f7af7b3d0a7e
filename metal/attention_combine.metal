/**
 * Second pass of attention over split keys: adds the splits of a head that attention_decode.metal left. Grid:
 * heads, rows; simdgroup s of COMBINE_SIMDGROUPS takes splits s, s + COMBINE_SIMDGROUPS, …
 */
#include "attend.h"

enum { COMBINE_SIMDGROUPS = 8, /** Splits that a simdgroup takes at once. */ COMBINED = 8 };

KERNEL(attention_combine, 256)
(BUFFER(const float, partials, 0), BUFFER(const int, rows, 1), BUFFER(const float, sinks, 2),
 BUFFER(const uchar, gate, 3), BUFFER(uchar, out, 4), PARAMS(AttentionParams, p, 5), GRID) {
  THREADGROUP_ARRAY(float4, shared, COMBINE_SIMDGROUPS * 32);
  THREADGROUP_ARRAY(float, summaries, COMBINE_SIMDGROUPS * 2);
  const uint head = group.x;
  const uint pitch = kValueDim + SUMMARY;
  const uint first = (group.y * p.heads + head) * p.splits * pitch;
  for (uint block = 0; block < kValueDim; block += 128) {
    const uint column = block + lane * 4;
    const bool has_column = column < kValueDim;
    float highest = LOWEST_SCORE;
    float total = 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint i = simd_index; i < p.splits; i += COMBINE_SIMDGROUPS * COMBINED) {
      // All loads before any use of them.
      float4 sums[COMBINED];
      float highests[COMBINED];
      float totals[COMBINED];
      UNROLL for (uint j = 0; j < COMBINED; j++) {
        const uint split = i + j * COMBINE_SIMDGROUPS;
        const bool is_there = split < p.splits;
        const uint at = first + min(split, p.splits - 1) * pitch;
        sums[j] = AS_DEVICE(const float4, partials + at + (has_column ? column : 0))[0];
        highests[j] = is_there ? float(partials[at + kValueDim]) : LOWEST_SCORE;
        totals[j] = is_there ? float(partials[at + kValueDim + 1]) : 0.0f;
      }
      UNROLL for (uint j = 0; j < COMBINED; j++) {
        const float joint = max(highest, highests[j]);
        const float kept = fast::exp(highest - joint);
        const float factor = i + j * COMBINE_SIMDGROUPS < p.splits ? fast::exp(highests[j] - joint) : 0.0f;
        sum = make_float4(sum.x * kept, sum.y * kept, sum.z * kept, sum.w * kept);
        sum = added(sum, sums[j], factor);
        total = fma(totals[j], factor, total * kept);
        highest = joint;
      }
    }
    group_barrier();
    shared[simd_index * 32 + lane] = sum;
    if (lane == 0) {
      summaries[simd_index * 2] = highest;
      summaries[simd_index * 2 + 1] = total;
    }
    group_barrier();
    if (simd_index > 0 || !has_column) continue;
    UNROLL for (uint i = 1; i < COMBINE_SIMDGROUPS; i++) highest = max(highest, summaries[i * 2]);
    total = 0.0f;
    sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    UNROLL for (uint i = 0; i < COMBINE_SIMDGROUPS; i++) {
      const float factor = fast::exp(summaries[i * 2] - highest);
      total = fma(summaries[i * 2 + 1], factor, total);
      sum = added(sum, shared[i * 32 + lane], factor);
    }
    store_four(sum, softmax_factor(highest, total, head, sinks), uint(rows[group.y]), head, column, gate, out,
               p);
  }
}
