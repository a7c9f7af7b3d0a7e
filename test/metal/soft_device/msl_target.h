/** metal/msl.h for the soft device: the dialect as C++20. */
#pragma once

#include <cmath>
#include <cstdint>

#include "kernel.h"
#include "matrix.h"
#include "pointer.h"
#include "simd.h"
#include "vector.h"

using namespace anllm::soft;

using uchar = uint8_t;
using ushort = uint16_t;
using uint = uint32_t;
using ulong = uint64_t;

#define KERNEL(name, threads)                  \
  constexpr uint32_t name##_threads = threads; \
  static void name
#define BUFFER(T, name, index) anllm::soft::DeviceArgument<T, index> name
#define PARAMS(T, name, index) const anllm::soft::ConstantArgument<T, index>& name
#define THREADGROUP_BUFFER(T, name, index) anllm::soft::ThreadgroupArgument<T, index> name
#define GRID                                                                                    \
  [[maybe_unused]] uint3 group, [[maybe_unused]] uint thread_index, [[maybe_unused]] uint lane, \
      [[maybe_unused]] uint simd_index
#define THREADGROUP_ARRAY(T, name, count) \
  const ThreadgroupPointer<T> name = anllm::soft::AllocateThreadgroup<T>(count)
#define FUNCTION_CONSTANT(T, name, id) \
  inline T name{};                     \
  inline const bool name##_is_defined = anllm::soft::DefineConstant(id, &name, sizeof(T))
#define DEVICE(T) anllm::soft::DevicePointer<T>
#define THREADGROUP(T) anllm::soft::ThreadgroupPointer<T>
#define AS_DEVICE(T, pointer) ((pointer).template As<T>())
#define AS_THREADGROUP(T, pointer) ((pointer).template As<T>())
#define UNROLL _Pragma("GCC unroll 64")
// Function constants are variables here.
#define UNROLL_BY_CONSTANT
#define thread
#define constant const

using std::ceil;
using std::cos;
using std::exp;
using std::exp2;
using std::fabs;
using std::floor;
using std::fma;
using std::log;
using std::sin;
using std::sqrt;
using std::tanh;

// Overloads rather than templates: what a checked pointer gives converts on its own.
inline float max(float a, float b) {
  return std::max(a, b);
}
inline float min(float a, float b) {
  return std::min(a, b);
}
inline uint max(uint a, uint b) {
  return std::max(a, b);
}
inline uint min(uint a, uint b) {
  return std::min(a, b);
}
inline int max(int a, int b) {
  return std::max(a, b);
}
inline int min(int a, int b) {
  return std::min(a, b);
}
inline float rsqrt(float x) {
  return 1.0f / std::sqrt(x);
}
inline float clamp(float x, float low, float high) {
  return std::min(std::max(x, low), high);
}
inline float round_to_even(float x) {
  return std::rint(x);
}
inline uint mulhi(uint a, uint b) {
  return static_cast<uint>((ulong{a} * b) >> 32);
}

template <class To, class From>
To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/** See msl.h; laid out as there. */
inline uint4 right_order(uint4 numbers) {
  return numbers;
}
inline void load_rights(const ThreadgroupPointer<const uint4>& staged, uint lane,
                        simdgroup_matrix<half, 8, 8> (&rights)[4]) {
  const uint row = fragment_row(lane);
  const auto numbers = (staged + fragment_column(lane) * 4 + row / 2).As<const half>() + row % 2 * 4;
  for (uint i = 0; i < 4; i++) rights[i].thread_elements() = {half(numbers[i]), half(numbers[32 + i])};
}

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
inline void zip_rights(uint4 first, uint4 second, simdgroup_matrix<half, 8, 8> (&rights)[8]) {
  const uint one[4] = {first.x, first.y, first.z, first.w};
  const uint two[4] = {second.x, second.y, second.z, second.w};
  for (uint i = 0; i < 4; i++) {
    rights[2 * i].thread_elements() = {as_type<half2>(one[i]).x, as_type<half2>(two[i]).x};
    rights[2 * i + 1].thread_elements() = {as_type<half2>(one[i]).y, as_type<half2>(two[i]).y};
  }
}

inline uint with_bits_of(uint word, uint mask, uint base) {
  return (word & mask) | base;
}

namespace fast {
using std::exp;
using std::exp2;
using std::log;
}  // namespace fast
