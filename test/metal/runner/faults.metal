/** Kernels with one mistake each, which the soft device has to find. x: 64 floats; 64 threads. */
#include "msl.h"

/** No mistake: reverses the floats of a threadgroup. */
KERNEL(fault_none, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  THREADGROUP_ARRAY(float, shared, 64);
  shared[thread_index] = x[thread_index];
  group_barrier();
  out[thread_index] = shared[63 - thread_index];
}

KERNEL(fault_read_beyond, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  out[thread_index] = x[thread_index + 1];
}

KERNEL(fault_write_beyond, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  out[thread_index * 2] = x[thread_index];
}

KERNEL(fault_misaligned, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  const float4 four = AS_DEVICE(const float4, x + 1)[0];
  out[thread_index] = four.x;
}

KERNEL(fault_barrier_not_reached, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  if (thread_index == 40) return;
  group_barrier();
  out[thread_index] = x[thread_index];
}

KERNEL(fault_two_barriers, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  if (thread_index < 32) {
    group_barrier();
  } else {
    group_barrier();
  }
  out[thread_index] = x[thread_index];
}

KERNEL(fault_lane_missing, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  float value = x[thread_index];
  if (lane > 3) value = simd_sum(value);
  out[thread_index] = value;
}

KERNEL(fault_uninitialised, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  THREADGROUP_ARRAY(float, shared, 64);
  if (thread_index != 5) shared[thread_index] = x[thread_index];
  group_barrier();
  out[thread_index] = shared[thread_index];
}

KERNEL(fault_read_race, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  THREADGROUP_ARRAY(float, shared, 64);
  shared[thread_index] = x[thread_index];
  lanes_barrier();
  out[thread_index] = shared[63 - thread_index];
}

KERNEL(fault_write_race, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  THREADGROUP_ARRAY(float, shared, 64);
  shared[thread_index] = x[thread_index];
  group_barrier();
  const float other = shared[63 - thread_index];
  shared[thread_index] = other;
  group_barrier();
  out[thread_index] = shared[thread_index];
}

KERNEL(fault_threadgroup_beyond, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  THREADGROUP_ARRAY(float, shared, 63);
  shared[thread_index] = x[thread_index];
  out[thread_index] = x[thread_index];
}

/** Two threadgroups write the same floats. */
KERNEL(fault_group_race, 64)
(BUFFER(const float, x, 0), BUFFER(float, out, 1), GRID) {
  out[thread_index] = x[thread_index] + float(group.x);
}
