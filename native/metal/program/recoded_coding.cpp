#include <algorithm>
#include <cstring>
#include <vector>

#include "../../weights/half.h"
#include "group_writer.h"

namespace anllm::metal {
namespace {

float ScalarAt(const uint8_t* scalars, DType type, size_t index) {
  if (type == DTYPE_F32) {
    float value;
    std::memcpy(&value, scalars + 4 * index, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, scalars + 2 * index, 2);
  return type == DTYPE_F16 ? weights::WidenHalf(bits) : weights::WidenBfloat(bits);
}

/** Another coding's numbers, decoded as metal/quantized.h says. */
class RecodedCoding : public Coding {
 public:
  RecodedCoding(std::unique_ptr<Coding> from, const Matrix& to) : Coding(to), from_(std::move(from)) {}

  void Write(int64_t first, int64_t last, const RowsPlace& place) const override {
    const Matrix& from = from_->matrix();
    const auto rows = static_cast<size_t>(last - first);
    std::vector<uint8_t> data(rows * RowBytes(from));
    std::vector<uint8_t> scales(rows * RowScaleBytes(from));
    std::vector<uint8_t> biases(scales.size());
    from_->Write(first, last, {data.data(), scales.data(), biases.data()});
    const Numbers numbers{from, data.data(), scales.data(), biases.data()};
    const size_t count = rows * from.columns;
    if (matrix().type == DTYPE_F32) {
      for (size_t i = 0; i < count; i++) {
        const float value = numbers.ValueAt(i);
        std::memcpy(place.data + i * sizeof(float), &value, sizeof(float));
      }
      return;
    }
    GroupWriter writer(matrix(), place);
    std::vector<uint8_t> codes(matrix().group_size);
    for (size_t i = 0; i < count; i += codes.size()) {
      for (size_t c = 0; c < codes.size(); c++) codes[c] = static_cast<uint8_t>(numbers.CodeAt(i + c));
      writer.Add(codes.data(), numbers.ScaleAt(i), numbers.BiasAt(i));
    }
  }

 private:
  /** Rows as they are stored; they are whole bytes and whole groups, so both can be counted through. */
  struct Numbers {
    const Matrix& matrix;
    const uint8_t* data;
    const uint8_t* scales;
    const uint8_t* biases;

    uint32_t CodeAt(size_t i) const {
      const size_t bit = i * matrix.bits;
      uint32_t code = data[bit / 8];
      if (bit % 8 + matrix.bits > 8) code |= uint32_t{data[bit / 8 + 1]} << 8;
      return code >> bit % 8 & ((1u << matrix.bits) - 1);
    }
    float ScaleAt(size_t i) const { return ScalarAt(scales, matrix.scale_type, i / matrix.group_size); }
    float BiasAt(size_t i) const { return ScalarAt(biases, matrix.scale_type, i / matrix.group_size); }
    float ValueAt(size_t i) const {
      if (matrix.type != DTYPE_AFFINE) return ScalarAt(data, matrix.type, i);
      return static_cast<float>(CodeAt(i)) * ScaleAt(i) + BiasAt(i);
    }
  };

  const std::unique_ptr<Coding> from_;
};

}  // namespace

bool AreCodedAlike(const Matrix& a, const Matrix& b) {
  return a.type == b.type && a.bits == b.bits && a.group_size == b.group_size &&
         a.scale_type == b.scale_type && a.columns == b.columns;
}

Matrix CommonCoding(const Matrix& a, const Matrix& b) {
  if (AreCodedAlike(a, b)) return a;
  Matrix common{.columns = a.columns, .type = DTYPE_F32};
  if (a.type != DTYPE_AFFINE || b.type != DTYPE_AFFINE) return common;
  common.type = DTYPE_AFFINE;
  common.bits = std::max(a.bits, b.bits);
  common.group_size = std::min(a.group_size, b.group_size);
  common.scale_type = a.scale_type == b.scale_type ? a.scale_type : DTYPE_F32;
  return common;
}

std::unique_ptr<Coding> Recoded(std::unique_ptr<Coding> coding, Matrix target) {
  if (AreCodedAlike(coding->matrix(), target)) return coding;
  target.rows = coding->matrix().rows;
  return std::make_unique<RecodedCoding>(std::move(coding), target);
}

std::unique_ptr<Coding> MakeDecodedCoding(std::unique_ptr<Coding> coding) {
  if (coding->matrix().type != DTYPE_AFFINE) return coding;
  const Matrix target{.columns = coding->matrix().columns, .type = DTYPE_F32};
  return Recoded(std::move(coding), target);
}

}  // namespace anllm::metal
