/** Sums over a whole threadgroup. */
#pragma once

#include "msl.h"

/** The sum over all threads, for all threads. `scratch`: one float a simdgroup; free again when it returns.
 */
inline float group_sum(float value, THREADGROUP(float) scratch, uint lane, uint simd_index, uint simdgroups) {
  float sum = simd_sum(value);
  if (simdgroups == 1) return sum;
  if (lane == 0) scratch[simd_index] = sum;
  group_barrier();
  sum = 0.0f;
  for (uint i = 0; i < simdgroups; i++) sum += scratch[i];
  group_barrier();
  return sum;
}
