#include <cstring>
#include <vector>

#include "../../weights/half.h"
#include "coding.h"

namespace anllm::metal {
namespace {

float ScalarAt(const std::vector<uint8_t>& scalars, DType type, size_t index) {
  if (type == DTYPE_F32) {
    float value;
    std::memcpy(&value, scalars.data() + 4 * index, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, scalars.data() + 2 * index, 2);
  return type == DTYPE_F16 ? weights::WidenHalf(bits) : weights::WidenBfloat(bits);
}

/** Another coding's numbers, decoded as metal/quantized.h says. */
class DecodedCoding : public Coding {
 public:
  explicit DecodedCoding(std::unique_ptr<Coding> packed)
      : Coding({.rows = packed->matrix().rows, .columns = packed->matrix().columns, .type = DTYPE_F32}),
        packed_(std::move(packed)) {}

  void Write(int64_t first, int64_t last, const RowsPlace& place) const override {
    const Matrix& from = packed_->matrix();
    const auto rows = static_cast<size_t>(last - first);
    std::vector<uint8_t> codes(rows * RowBytes(from));
    std::vector<uint8_t> scales(rows * RowScaleBytes(from));
    std::vector<uint8_t> biases(scales.size());
    packed_->Write(first, last, {codes.data(), scales.data(), biases.data()});
    const uint32_t mask = (1u << from.bits) - 1;
    uint8_t* target = place.data;
    // Rows are whole bytes and groups whole rows, so numbers and groups can be counted through.
    for (size_t i = 0; i < rows * from.columns; i++, target += sizeof(float)) {
      const size_t bit = i * from.bits;
      uint32_t code = codes[bit / 8];
      if (bit % 8 + from.bits > 8) code |= uint32_t{codes[bit / 8 + 1]} << 8;
      const size_t group = i / from.group_size;
      const float value =
          static_cast<float>(code >> bit % 8 & mask) * ScalarAt(scales, from.scale_type, group) +
          ScalarAt(biases, from.scale_type, group);
      std::memcpy(target, &value, sizeof(value));
    }
  }

 private:
  const std::unique_ptr<Coding> packed_;
};

}  // namespace

std::unique_ptr<Coding> MakeDecodedCoding(std::unique_ptr<Coding> coding) {
  if (coding->matrix().type != DTYPE_AFFINE) return coding;
  return std::make_unique<DecodedCoding>(std::move(coding));
}

}  // namespace anllm::metal
