#include "code_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "half.h"

namespace anllm::weights {
namespace {

constexpr int64_t kQuadBytes = 4 * kBlockRows;

int64_t ScalarBytes(Float scalar) {
  return scalar == Float::kF32 ? 4 : 2;
}

int64_t CodesBytes(int64_t columns, Coding coding) {
  return columns * kBlockRows / (coding == Coding::kNibbles ? 2 : 1);
}

/** Returns whether the value is finite in its type. */
bool WriteScalar(float value, Float scalar, uint8_t* target) {
  if (scalar == Float::kF32) {
    std::memcpy(target, &value, 4);
    return std::isfinite(value);
  }
  const uint16_t bits = scalar == Float::kF16 ? NarrowHalf(value) : TruncateToBfloat(value);
  std::memcpy(target, &bits, 2);
  return std::isfinite(scalar == Float::kF16 ? WidenHalf(bits) : WidenBfloat(bits));
}

template <class Group>
bool PackGroup(const Group& group, Coding coding, Float scalar, int64_t lane, uint8_t* target) {
  constexpr int64_t kSize = sizeof(Group::codes);
  const uint8_t* codes = group.codes;
  uint8_t* quads = target + 4 * lane;
  const int64_t columns = coding == Coding::kNibbles ? 8 : 4;
  for (int64_t c = 0; c < kSize; c += columns, codes += columns, quads += kQuadBytes) {
    for (int64_t k = 0; k < 4; k++) {
      quads[k] = coding == Coding::kNibbles ? static_cast<uint8_t>(codes[k] | codes[4 + k] << 4) : codes[k];
    }
  }
  const int64_t bytes = ScalarBytes(scalar);
  uint8_t* scalars = target + CodesBytes(kSize, coding) + lane * bytes;
  const bool has_scale = WriteScalar(group.scale, scalar, scalars);
  const bool has_bias = WriteScalar(group.bias, scalar, scalars + kBlockRows * bytes);
  return has_scale && has_bias;
}

}  // namespace

int64_t CodeGroupBytes(int64_t columns, Coding coding, Float scalar) {
  return CodesBytes(columns, coding) + 2 * kBlockRows * ScalarBytes(scalar);
}

bool PackCodeGroup(const CodeGroup& group, Coding coding, Float scalar, int64_t lane, uint8_t* target) {
  return PackGroup(group, coding, scalar, lane, target);
}
bool PackCodeGroup(const FineGroup& group, Coding coding, Float scalar, int64_t lane, uint8_t* target) {
  return PackGroup(group, coding, scalar, lane, target);
}

CodeGroup QuantizeToBytes(const float* values) {
  const auto [low, high] = std::minmax_element(values, values + kCodeGroup);
  CodeGroup group;
  group.bias = WidenHalf(NarrowHalf(*low));
  group.scale = WidenHalf(NarrowHalf((*high - group.bias) / 255.0f));
  const float inverse = group.scale > 0.0f ? 1.0f / group.scale : 0.0f;
  for (int64_t i = 0; i < kCodeGroup; i++) {
    const float steps = std::nearbyint((values[i] - group.bias) * inverse);
    group.codes[i] = static_cast<uint8_t>(std::clamp(steps, 0.0f, 255.0f));
  }
  return group;
}

}  // namespace anllm::weights
