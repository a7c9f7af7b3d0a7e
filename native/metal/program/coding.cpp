#include "coding.h"

#include <cstring>

#include "../../error.h"
#include "../../weights/format.h"

namespace anllm::metal {
namespace {

DType DTypeOf(const weights::StoredTensor& tensor) {
  switch (weights::ScalarOf(tensor)) {
    case Float::kF32:
      return DTYPE_F32;
    case Float::kF16:
      return DTYPE_F16;
    case Float::kBf16:
      break;
  }
  return DTYPE_BF16;
}

/** The kernels read floats and MLX's affine numbers as they are stored. */
class StoredCoding : public Coding {
 public:
  StoredCoding(const weights::WeightSource& source, const program::WeightSpec& spec, weights::Files* files)
      : Coding(MatrixOf(source, spec)), source_(source), files_(*files) {
    files->Open(source_.tensor);
    if (matrix().type != DTYPE_AFFINE) return;
    files->Open(source_.scales);
    files->Open(source_.biases);
  }

  void Write(int64_t first, int64_t last, const RowsPlace& place) const override {
    Copy(source_.tensor, RowBytes(matrix()), first, last, place.data);
    if (matrix().type != DTYPE_AFFINE) return;
    Copy(source_.scales, RowScaleBytes(matrix()), first, last, place.scales);
    Copy(source_.biases, RowScaleBytes(matrix()), first, last, place.biases);
  }

 private:
  static Matrix MatrixOf(const weights::WeightSource& source, const program::WeightSpec& spec) {
    Matrix matrix{.rows = static_cast<uint32_t>(spec.rows), .columns = static_cast<uint32_t>(spec.cols)};
    if (source.kind == weights::SourceKind::kDense) {
      weights::CheckTensor(source.tensor, spec.rows, spec.cols);
      matrix.type = DTypeOf(source.tensor);
      return matrix;
    }
    weights::CheckAffine(source, spec);
    matrix.type = DTYPE_AFFINE;
    matrix.bits = static_cast<uint32_t>(source.bits);
    matrix.group_size = static_cast<uint32_t>(source.group_size);
    matrix.scale_type = DTypeOf(source.scales);
    return matrix;
  }

  void Copy(const weights::StoredTensor& tensor, size_t row_bytes, int64_t first, int64_t last,
            uint8_t* target) const {
    const auto bytes = static_cast<int64_t>(row_bytes);
    const weights::Bytes rows = files_.Read(tensor, first * bytes, last * bytes);
    if (tensor.type != weights::ElementType::kU32) weights::CheckFinite(tensor, rows);
    std::memcpy(target, rows.data(), rows.size());
  }

  const weights::WeightSource source_;
  const weights::Files& files_;
};

}  // namespace

size_t RowBytes(const Matrix& matrix) {
  if (matrix.type == DTYPE_AFFINE) return size_t{matrix.columns} * matrix.bits / 8;
  return size_t{matrix.columns} * (matrix.type == DTYPE_F32 ? 4 : 2);
}

size_t RowScaleBytes(const Matrix& matrix) {
  if (matrix.type != DTYPE_AFFINE) return 0;
  return size_t{matrix.columns} / matrix.group_size * (matrix.scale_type == DTYPE_F32 ? 4 : 2);
}

std::unique_ptr<Coding> MakeCoding(const weights::WeightSource& source, const program::WeightSpec& spec,
                                   bool is_exact, weights::Files* files) {
  switch (source.kind) {
    case weights::SourceKind::kGguf:
      return MakeBlockCoding(source, spec, is_exact, files);
    case weights::SourceKind::kMicroscaled:
      return MakeMicroscaledCoding(source, spec, files);
    case weights::SourceKind::kDense:
    case weights::SourceKind::kAffine:
      break;
  }
  return std::make_unique<StoredCoding>(source, spec, files);
}

}  // namespace anllm::metal
