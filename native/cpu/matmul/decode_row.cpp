#include "decode_row.h"

#include <string.h>

#include "../../kernels/group_layout.h"
#include "tiles.h"

namespace anllm::ANLLM_ISA {
namespace {

float ReadScalar(Float type, const uint8_t* scalars, int64_t lane) {
  if (type == Float::kF32) return reinterpret_cast<const float*>(scalars)[lane];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(scalars)[lane];
  if (type == Float::kBf16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
  uint16_t lanes[16] = {bits};
  float values[16];
  Store(values, LoadHalf(lanes));
  return values[0];
}

}  // namespace

void DecodeRow(const Matrix& w, int64_t row, float* out) {
  const uint8_t* p = w.data + row / kBlockRows * w.block_bytes;
  const int64_t lane = row % kBlockRows;
  const int64_t scalars = ScalarsBytesOf(w.scalar);
  if (w.coding == Coding::kFloats) {
    for (int64_t c = 0; c < w.cols; c++, p += scalars) out[c] = ReadScalar(w.scalar, p, lane);
    return;
  }
  const int zero = ZeroOf(w.coding);
  for (int64_t group = 0; group < w.cols; group += w.group_size) {
    const uint8_t* end = p + CodesBytesOf(w.coding, w.group_size);
    const float scale = ReadScalar(w.scalar, end, lane);
    const float bias = zero > 0 ? 0.0f : ReadScalar(w.scalar, end + scalars, lane);
    for (int64_t c = 0; c < w.group_size; c++)
      out[group + c] = static_cast<float>(CodeAt(w.coding, p, lane, c) - zero) * scale + bias;
    p += GroupBytesOf(w.coding, w.scalar, w.group_size);
  }
}

}  // namespace anllm::ANLLM_ISA
