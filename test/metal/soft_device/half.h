/** IEEE binary16 in software: arithmetic rounds after every operation, as a GPU's does. */
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace anllm::soft {

/** Portable conversions; rounding is to nearest, ties to even. */
float HalfToFloatPortable(uint16_t bits);
uint16_t FloatToHalfPortable(float value);

inline float HalfToFloat(uint16_t bits) {
#if defined(__F16C__)
  return _cvtsh_ss(bits);
#else
  return HalfToFloatPortable(bits);
#endif
}

inline uint16_t FloatToHalf(float value) {
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#else
  return FloatToHalfPortable(value);
#endif
}

class half {
 public:
  half() = default;
  template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
  half(Number value) : bits_(FloatToHalf(static_cast<float>(value))) {}
  operator float() const { return HalfToFloat(bits_); }

  half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
  half& operator*=(half other) { return *this = half(float(*this) * float(other)); }

 private:
  uint16_t bits_;
};

template <class T>
concept Half = std::same_as<T, half>;

// Rounding the float result once is exact: binary32 has more than twice the digits of binary16.
template <Half A, Half B>
half operator+(A a, B b) {
  return half(float(a) + float(b));
}
template <Half A, Half B>
half operator-(A a, B b) {
  return half(float(a) - float(b));
}
template <Half A, Half B>
half operator*(A a, B b) {
  return half(float(a) * float(b));
}
template <Half A, Half B>
half operator/(A a, B b) {
  return half(float(a) / float(b));
}

}  // namespace anllm::soft
