#include "half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace anllm::weights {

float WidenHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float magnitude;
  if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else if (exponent == 31) {
    magnitude =
        fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

float WidenBfloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t NarrowHalf(float value) {
  constexpr int kInfinity = 0x7c00;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0f) return static_cast<uint16_t>(sign);
  if (!std::isfinite(magnitude)) return static_cast<uint16_t>(sign | kInfinity);
  int exponent;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);  // of the last place
  const auto units = static_cast<int>(std::lrint(std::ldexp(magnitude, -unit)));
  // 1024 units are the implicit first bit, which carries into the exponent.
  const int bits = unit > 5 ? kInfinity : std::min(((unit + 24) << 10) + units, kInfinity);
  return static_cast<uint16_t>(sign | bits);
}

uint16_t TruncateToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

float ReadHalf(const uint8_t* bytes) {
  return WidenHalf(static_cast<uint16_t>(bytes[0] | bytes[1] << 8));
}

}  // namespace anllm::weights
