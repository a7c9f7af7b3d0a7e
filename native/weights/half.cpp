#include "half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace anllm::weights {
namespace {

/** From an exponent of binary16 to that of a float. */
constexpr uint32_t kExponentShift = 127 - 15;

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t ToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

float WidenHalf(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 1023;
  float magnitude;
  if (exponent == 0) {
    magnitude = static_cast<float>(fraction) * 0x1p-24f;
  } else if (exponent == 31) {
    magnitude =
        fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    magnitude = FromBits((exponent + kExponentShift) << 23 | fraction << 13);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

float WidenBfloat(uint16_t bits) {
  return FromBits(static_cast<uint32_t>(bits) << 16);
}

uint16_t NarrowHalf(float value) {
  constexpr uint32_t kInfinity = 0x7c00;
  const uint32_t all = ToBits(value);
  const uint32_t sign = all >> 16 & 0x8000;
  const uint32_t magnitude = all & 0x7fffffff;
  uint32_t bits;
  if (magnitude < (kExponentShift + 1) << 23) {
    // Units of 2^-24, as those below 2^-14 are counted; rounded to the nearest, ties to even.
    bits = static_cast<uint32_t>(std::lrint(FromBits(magnitude) * 0x1p24f));
  } else {
    // The same for 13 bits that binary16 does not have; what they carry goes on into the exponent.
    const uint32_t moved = magnitude - (kExponentShift << 23);
    bits = std::min((moved + 0xfff + (moved >> 13 & 1)) >> 13, kInfinity);
  }
  return static_cast<uint16_t>(sign | bits);
}

uint16_t TruncateToBfloat(float value) {
  return static_cast<uint16_t>(ToBits(value) >> 16);
}

}  // namespace anllm::weights
