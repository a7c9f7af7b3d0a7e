#include <cstring>

#include "../kernels/group_layout.h"
#include "format.h"
#include "half.h"

namespace anllm::weights {
namespace {

float ReadScalar(const uint8_t* scalars, Float type, int64_t lane) {
  if (type == Float::kF32) {
    float value;
    std::memcpy(&value, scalars + 4 * lane, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, scalars + 2 * lane, 2);
  return type == Float::kF16 ? WidenHalf(bits) : WidenBfloat(bits);
}

/** Another format's weights as float32: packed as usual, then decoded by the layout of kernels/matrix.h. */
class DequantizedFormat : public Format {
 public:
  explicit DequantizedFormat(std::unique_ptr<Format> codes)
      : codes_(std::move(codes)), packed_(codes_->Layout()) {}

  Matrix Layout() const override {
    const int64_t block_bytes = packed_.cols * kBlockRows * int64_t{sizeof(float)};
    return {nullptr, packed_.rows, packed_.cols, block_bytes, 0, Coding::kFloats, Float::kF32};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    std::vector<uint8_t> block(static_cast<size_t>(packed_.block_bytes));
    for (int64_t i = first; i < last; i++) {
      // Lanes without a row stay zero.
      std::memset(block.data(), 0, block.size());
      codes_->Pack(i, i + 1, block.data());
      DecodeBlock(block.data(), target + (i - first) * Layout().block_bytes);
    }
  }

 private:
  void DecodeBlock(const uint8_t* block, uint8_t* target) const {
    const int64_t codes_bytes = CodesBytesOf(packed_.coding, packed_.group_size);
    const int64_t scalars_bytes = ScalarsBytesOf(packed_.scalar);
    const int zero = ZeroOf(packed_.coding);
    for (int64_t group = 0; group < packed_.cols; group += packed_.group_size) {
      for (int64_t lane = 0; lane < kBlockRows; lane++) {
        const uint8_t* scalars = block + codes_bytes;
        const float scale = ReadScalar(scalars, packed_.scalar, lane);
        const float bias = zero > 0 ? 0.0f : ReadScalar(scalars + scalars_bytes, packed_.scalar, lane);
        for (int64_t c = 0; c < packed_.group_size; c++) {
          const int code = CodeAt(packed_.coding, block, lane, c);
          const float value = static_cast<float>(code - zero) * scale + bias;
          std::memcpy(target + ((group + c) * kBlockRows + lane) * 4, &value, 4);
        }
      }
      block += GroupBytesOf(packed_.coding, packed_.scalar, packed_.group_size);
    }
  }

  const std::unique_ptr<Format> codes_;
  const Matrix packed_;
};

}  // namespace

std::unique_ptr<Format> MakeDequantizedFormat(std::unique_ptr<Format> format) {
  if (format->Layout().coding == Coding::kFloats) return format;
  return std::make_unique<DequantizedFormat>(std::move(format));
}

}  // namespace anllm::weights
