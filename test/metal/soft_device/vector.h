/** Metal's small vectors, as far as the kernels use them. */
#pragma once

#include <cstdint>

#include "half.h"

namespace anllm::soft {

template <class T, int N>
struct vec;

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  T& operator[](unsigned i) { return i == 0 ? x : y; }
  const T& operator[](unsigned i) const { return i == 0 ? x : y; }
};

/** As large as a vector of four, as in Metal. */
template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  T x, y, z;
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  T x, y, z, w;
};

using float2 = vec<float, 2>;
using float4 = vec<float, 4>;
using half2 = vec<half, 2>;
using half4 = vec<half, 4>;
using ushort4 = vec<uint16_t, 4>;
using uint2 = vec<uint32_t, 2>;
using uint3 = vec<uint32_t, 3>;
using uint4 = vec<uint32_t, 4>;

inline half2 make_half2(float x, float y) {
  return {half(x), half(y)};
}
inline half2 fused(half2 a, half2 b, half2 c) {
  return {half(float(a.x) * float(b.x) + float(c.x)), half(float(a.y) * float(b.y) + float(c.y))};
}
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline float4 to_float4(half4 v) {
  return {v.x, v.y, v.z, v.w};
}
inline float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

}  // namespace anllm::soft
