#include "group_writer.h"

#include <cmath>
#include <cstring>

#include "../../weights/half.h"

namespace anllm::metal {

void GroupWriter::Add(const uint8_t* codes, float scale, float bias) {
  // Groups are whole bytes: 16 numbers of any width are.
  uint64_t pending = 0;
  uint32_t bits = 0;
  for (uint32_t i = 0; i < matrix_.group_size; i++) {
    pending |= uint64_t{codes[i]} << bits;
    for (bits += matrix_.bits; bits >= 8; bits -= 8, pending >>= 8)
      *place_.data++ = static_cast<uint8_t>(pending);
  }
  const int64_t before = bad_;
  AddScalar(scale, &place_.scales);
  AddScalar(bias, &place_.biases);
  if (bad_ > before) bad_ = before + 1;
}

void GroupWriter::AddScalar(float value, uint8_t** target) {
  if (matrix_.scale_type == DTYPE_F32) {
    std::memcpy(*target, &value, sizeof(value));
    *target += sizeof(value);
    if (!std::isfinite(value)) bad_++;
    return;
  }
  const bool is_half = matrix_.scale_type == DTYPE_F16;
  const uint16_t bits = is_half ? weights::NarrowHalf(value) : weights::TruncateToBfloat(value);
  std::memcpy(*target, &bits, sizeof(bits));
  *target += sizeof(bits);
  if (!std::isfinite(is_half ? weights::WidenHalf(bits) : weights::WidenBfloat(bits))) bad_++;
}

}  // namespace anllm::metal
