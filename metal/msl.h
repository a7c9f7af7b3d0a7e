/**
 * The one dialect in which every kernel is written. Here it becomes the Metal Shading Language 3.1; a build
 * for another device (test/metal/) has its own msl_target.h on the include path, which gives the same
 * vocabulary a different meaning.
 *
 *   KERNEL(name, threads)(BUFFER(T, x, 0), …, PARAMS(P, p, n), GRID) { … }
 *     threads                most threads of a threadgroup, so that the compiler leaves each enough registers
 *     BUFFER, PARAMS         bindings, numbered from 0 without gaps; every one of them is bound
 *     THREADGROUP_BUFFER     threadgroup memory whose length the dispatch gives
 *     GRID                   group, thread_index, lane, simd_index
 *   THREADGROUP_ARRAY(T, name, count)   threadgroup memory of fixed size, at the top of a kernel's body
 *   FUNCTION_CONSTANT(T, name, id)      a value fixed when the pipeline is made
 *   DEVICE(T), THREADGROUP(T)           pointer types; thread pointers and references are written as in Metal
 *   AS_DEVICE(T, pointer), AS_THREADGROUP(T, pointer)   the same address as a pointer to T
 *
 *   UNROLL, UNROLL_BY_CONSTANT          before a loop whose count is written there, or is a function constant
 *
 * Metal's fast math is off in every build of these files; where speed matters more than the last bits, fast::
 * is written.
 */
#pragma once

#if defined(__METAL_VERSION__)

#include <metal_simdgroup_matrix>
#include <metal_stdlib>

using namespace metal;

#define KERNEL(name, threads) [[max_total_threads_per_threadgroup(threads)]] kernel void name
#define BUFFER(T, name, index) device T* name [[buffer(index)]]
#define PARAMS(T, name, index) constant T& name [[buffer(index)]]
#define THREADGROUP_BUFFER(T, name, index) threadgroup T* name [[threadgroup(index)]]
#define GRID                                                                                       \
  uint3 group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]], \
      uint lane [[thread_index_in_simdgroup]], uint simd_index [[simdgroup_index_in_threadgroup]]
#define THREADGROUP_ARRAY(T, name, count) threadgroup T name[count]
#define FUNCTION_CONSTANT(T, name, id) constant T name [[function_constant(id)]]
#define DEVICE(T) device T*
#define THREADGROUP(T) threadgroup T*
#define AS_DEVICE(T, pointer) ((device T*)(pointer))
#define AS_THREADGROUP(T, pointer) ((threadgroup T*)(pointer))
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_CONSTANT _Pragma("unroll")

inline void group_barrier() {
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
/** Also makes writes to device memory visible to the threadgroup. */
inline void group_device_barrier() {
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
}
inline void lanes_barrier() {
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

/** `base` with those bits of `word` that are in `mask`; base has none of them. */
inline uint with_bits_of(uint word, uint mask, uint base) {
  return (word & mask) | base;
}

/** The nearest whole number, the even one of two. */
inline float round_to_even(float x) {
  return rint(x);
}

inline half2 make_half2(float x, float y) {
  return half2(half(x), half(y));
}
/** a * b + c, rounded once. */
inline half2 fused(half2 a, half2 b, half2 c) {
  return fma(a, b, c);
}

inline float2 make_float2(float x, float y) {
  return float2(x, y);
}
inline float4 make_float4(float x, float y, float z, float w) {
  return float4(x, y, z, w);
}
inline float4 to_float4(half4 v) {
  return float4(v);
}

template <typename T>
inline void simdgroup_fill(thread simdgroup_matrix<T, 8, 8>& matrix, T value) {
  matrix = make_filled_simdgroup_matrix<T, 8, 8>(value);
}
template <typename T>
inline void simdgroup_load_transposed(thread simdgroup_matrix<T, 8, 8>& matrix, device const T* source,
                                      uint stride) {
  simdgroup_load(matrix, source, stride, ulong2(0, 0), true);
}
template <typename T>
inline void simdgroup_load_transposed(thread simdgroup_matrix<T, 8, 8>& matrix, threadgroup const T* source,
                                      uint stride) {
  simdgroup_load(matrix, source, stride, ulong2(0, 0), true);
}

/** first += a · right, second += b · right; a and b hold integers below 2^11 times powers of two. */
inline void multiply_integers(thread simdgroup_float8x8& first, thread simdgroup_float8x8& second,
                              thread simdgroup_float8x8& a, thread simdgroup_float8x8& b,
                              thread simdgroup_float8x8& right) {
  simdgroup_multiply_accumulate(first, a, right, first);
  simdgroup_multiply_accumulate(second, b, right, second);
}

/** first += left[0] · one + left[2] · two, second += left[1] · one + left[3] · two. */
inline void multiply_two(thread simdgroup_float8x8& first, thread simdgroup_float8x8& second,
                         thread simdgroup_half8x8 (&left)[4], thread simdgroup_half8x8& one,
                         thread simdgroup_half8x8& two) {
  simdgroup_multiply_accumulate(first, left[0], one, first);
  simdgroup_multiply_accumulate(second, left[1], one, second);
  simdgroup_multiply_accumulate(first, left[2], two, first);
  simdgroup_multiply_accumulate(second, left[3], two, second);
}

/**
 * Row of the two elements that a lane holds of a simdgroup_matrix, and column of the first; the second one
 * stands to its right. Apple does not document the layout; it is the same on every GPU so far, and the
 * self-test of linear_batch fails on one that differs. `thread_elements()` is all 64 elements to the
 * compiler: only numbers 0 and 1 are the lane's, and are written one by one.
 */
inline uint fragment_row(uint lane) {
  return lane / 16 * 4 + lane / 2 % 4;
}
inline uint fragment_column(uint lane) {
  return lane / 8 % 2 * 4 + lane % 2 * 2;
}

/** The lanes that hold one row differ in these bits. */
enum { FRAGMENT_ROW_BIT_0 = 1, FRAGMENT_ROW_BIT_1 = 8 };

/**
 * Right matrices of halves from rows of x in threadgroup memory: of each 8 neighbouring numbers of a row, `i`
 * and `i` + 4 belong to rows 2 c and 2 c + 1 of matrix i < 4, c being the place of these 8 among four.
 * `right_order` makes the 16 bytes of 8 numbers, `load_rights` finds a lane's elements of four matrices in
 * the 32 such words of eight rows.
 */
inline uint4 right_order(uint4 numbers) {
  return numbers;
}
inline void load_rights(const threadgroup uint4* staged, uint lane, thread simdgroup_half8x8 (&rights)[4]) {
  const uint row = fragment_row(lane);
  const threadgroup half4* numbers =
      (const threadgroup half4*)(staged + fragment_column(lane) * 4 + row / 2) + row % 2;
  const half4 first = numbers[0];
  const half4 second = numbers[8];
  UNROLL for (uint i = 0; i < 4; i++) {
    rights[i].thread_elements()[0] = first[i];
    rights[i].thread_elements()[1] = second[i];
  }
}

/**
 * Right matrices of halves from device memory: matrix i has elements i of two vectors of 8 that each lane
 * reads. Of a matrix with a key a column vector number `n` comes from key `key_row`, columns from
 * `key_column` on; of one with a value a row likewise.
 */
inline uint key_row(uint lane, uint n) {
  return fragment_column(lane) + n;
}
inline uint key_column(uint lane, uint) {
  return fragment_row(lane) * 8;
}
inline uint value_row(uint lane, uint) {
  return fragment_row(lane);
}
inline uint value_column(uint lane, uint n) {
  return (fragment_column(lane) + n) * 8;
}
inline void zip_rights(uint4 first, uint4 second, thread simdgroup_half8x8 (&rights)[8]) {
  UNROLL for (uint i = 0; i < 4; i++) {
    const half2 one = as_type<half2>(first[i]);
    const half2 two = as_type<half2>(second[i]);
    rights[2 * i].thread_elements()[0] = one.x;
    rights[2 * i].thread_elements()[1] = two.x;
    rights[2 * i + 1].thread_elements()[0] = one.y;
    rights[2 * i + 1].thread_elements()[1] = two.y;
  }
}
/** sums += a · one + b · two */
inline void multiply_pair(thread simdgroup_float8x8& sums, thread simdgroup_half8x8& a,
                          thread simdgroup_half8x8& b, thread simdgroup_half8x8& one,
                          thread simdgroup_half8x8& two) {
  simdgroup_multiply_accumulate(sums, a, one, sums);
  simdgroup_multiply_accumulate(sums, b, two, sums);
}

inline uint ballot(bool predicate) {
  return uint(simd_vote::vote_t(simd_ballot(predicate)));
}

inline void atomic_set(threadgroup atomic_uint* target, uint value) {
  atomic_store_explicit(target, value, memory_order_relaxed);
}
inline uint atomic_add(threadgroup atomic_uint* target, uint value) {
  return atomic_fetch_add_explicit(target, value, memory_order_relaxed);
}
inline uint atomic_get(threadgroup atomic_uint* target) {
  return atomic_load_explicit(target, memory_order_relaxed);
}

#else
#include "msl_target.h"
#endif
