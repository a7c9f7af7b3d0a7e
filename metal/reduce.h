/** Sums, extremes and running sums over a whole threadgroup. */
#pragma once

#include "msl.h"

// `scratch` has an element a simdgroup and is free again when these return; all threads get the result.

template <typename T>
inline T group_sum(T value, THREADGROUP(T) scratch, uint lane, uint simd_index, uint simdgroups) {
  T sum = simd_sum(value);
  if (simdgroups == 1) return sum;
  if (lane == 0) scratch[simd_index] = sum;
  group_barrier();
  sum = T(0);
  for (uint i = 0; i < simdgroups; i++) sum += scratch[i];
  group_barrier();
  return sum;
}

template <typename T>
inline T group_max(T value, THREADGROUP(T) scratch, uint lane, uint simd_index, uint simdgroups) {
  T highest = simd_max(value);
  if (lane == 0) scratch[simd_index] = highest;
  group_barrier();
  for (uint i = 0; i < simdgroups; i++) highest = max(highest, T(scratch[i]));
  group_barrier();
  return highest;
}

template <typename T>
inline T group_min(T value, THREADGROUP(T) scratch, uint lane, uint simd_index, uint simdgroups) {
  T lowest = simd_min(value);
  if (lane == 0) scratch[simd_index] = lowest;
  group_barrier();
  for (uint i = 0; i < simdgroups; i++) lowest = min(lowest, T(scratch[i]));
  group_barrier();
  return lowest;
}

/** The sum of the threads before this one. */
inline float group_prefix_sum(float value, THREADGROUP(float) scratch, uint lane, uint simd_index,
                              uint simdgroups) {
  const float sum = simd_sum(value);
  float before = simd_prefix_exclusive_sum(value);
  if (lane == 0) scratch[simd_index] = sum;
  group_barrier();
  for (uint i = 0; i < simdgroups; i++) before += i < simd_index ? float(scratch[i]) : 0.0f;
  group_barrier();
  return before;
}
