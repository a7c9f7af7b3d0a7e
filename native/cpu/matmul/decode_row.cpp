#include "decode_row.h"

#include <string.h>

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

/** Codes of `columns` columns (4 for bytes, 8 for nibbles) of one row. */
void ReadCodes(const Matrix& w, const uint8_t* chunk, int64_t lane, float* codes) {
  const uint8_t* quad = chunk + 4 * lane;
  for (int i = 0; i < 4; i++) {
    codes[i] = w.coding == Coding::kNibbles ? quad[i] & 15 : quad[i];
    if (w.coding == Coding::kNibbles) codes[4 + i] = quad[i] >> 4;
  }
}

}  // namespace

void DecodeRow(const Matrix& w, int64_t row, float* out) {
  const uint8_t* p = w.data + row / kBlockRows * w.block_bytes;
  const int64_t lane = row % kBlockRows;
  const int64_t scalars = w.scalar == Float::kF32 ? 64 : 32;
  if (w.coding == Coding::kFloats) {
    for (int64_t c = 0; c < w.cols; c++, p += scalars) out[c] = ReadScalar(w.scalar, p, lane);
    return;
  }
  const int64_t columns = w.coding == Coding::kNibbles ? 8 : 4;
  for (int64_t group = 0; group < w.cols; group += w.group_size) {
    const uint8_t* end = p + w.group_size / columns * 64;
    const float scale = ReadScalar(w.scalar, end, lane);
    const float bias = ReadScalar(w.scalar, end + scalars, lane);
    for (int64_t c = group; p < end; p += 64, c += columns) {
      float codes[8];
      ReadCodes(w, p, lane, codes);
      for (int64_t i = 0; i < columns; i++) out[c + i] = codes[i] * scale + bias;
    }
    p = end + 2 * scalars;
  }
}

}  // namespace anllm::ANLLM_ISA
