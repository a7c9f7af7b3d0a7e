#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../error.h"
#include "../../weights/gguf_blocks.h"
#include "group_writer.h"

namespace anllm::metal {
namespace {

using weights::BlockFormat;

class BlockCoding : public Coding {
 public:
  BlockCoding(const weights::WeightSource& source, const program::WeightSpec& spec, bool is_exact,
              weights::Files* files)
      : Coding(MatrixOf(source, spec, is_exact)),
        tensor_(source.tensor),
        format_(weights::BlockFormatOf(source)),
        row_bytes_(spec.cols / format_.columns * format_.bytes),
        files_(*files) {
    weights::CheckTensor(tensor_, spec.rows, row_bytes_);
    files->Open(tensor_);
  }

  void Write(int64_t first, int64_t last, const RowsPlace& place) const override {
    const weights::Bytes bytes = files_.Read(tensor_, first * row_bytes_, last * row_bytes_);
    GroupWriter writer(matrix(), place);
    uint8_t* target = place.data;
    int64_t bad = 0;
    for (const uint8_t* block = bytes.data(); block < bytes.data() + bytes.size(); block += format_.bytes) {
      weights::CodeGroup groups[weights::kMaxBlockColumns / weights::kCodeGroup];
      if (format_.groups != nullptr) {
        format_.groups(block, groups);
      } else {
        float values[weights::kMaxBlockColumns];
        weights::DecodeFineBlock(format_, block, values);
        if (matrix().type == DTYPE_F32) {
          const size_t size = static_cast<size_t>(format_.columns) * sizeof(float);
          std::memcpy(target, values, size);
          target += size;
          bad += std::count_if(values, values + format_.columns, [](float v) { return !std::isfinite(v); });
          continue;
        }
        for (int64_t c = 0; c < format_.columns; c += weights::kCodeGroup)
          groups[c / weights::kCodeGroup] = weights::QuantizeToBytes(values + c);
      }
      for (int64_t g = 0; g < format_.columns / weights::kCodeGroup; g++)
        writer.Add(groups[g].codes, groups[g].scale, groups[g].bias);
    }
    bad += writer.bad();
    if (bad > 0) {
      throw BadModel(tensor_.file + ": " + tensor_.name + ": " + std::to_string(bad) +
                     " scales or values not finite");
    }
  }

 private:
  static Matrix MatrixOf(const weights::WeightSource& source, const program::WeightSpec& spec,
                         bool is_exact) {
    const BlockFormat& format = weights::BlockFormatOf(source);
    if (spec.cols % format.columns != 0) {
      throw BadModel(source.tensor.file + ": " + source.tensor.name + ": got " + std::to_string(spec.cols) +
                     " columns, expected a multiple of " + std::to_string(format.columns));
    }
    Matrix matrix{.rows = static_cast<uint32_t>(spec.rows),
                  .columns = static_cast<uint32_t>(spec.cols),
                  .type = DTYPE_F32};
    // Kernels have no scales for 16 numbers.
    const bool is_fine = format.groups == nullptr;
    if (is_fine && is_exact) return matrix;
    const Float scalar = !is_exact && format.scalar == Float::kF32 ? Float::kF16 : format.scalar;
    matrix.type = DTYPE_AFFINE;
    matrix.bits = is_fine ? 8 : static_cast<uint32_t>(format.bits);
    matrix.group_size = static_cast<uint32_t>(weights::kCodeGroup);
    matrix.scale_type = scalar == Float::kF32 ? DTYPE_F32 : scalar == Float::kF16 ? DTYPE_F16 : DTYPE_BF16;
    return matrix;
  }

  const weights::StoredTensor tensor_;
  const BlockFormat& format_;
  const int64_t row_bytes_;
  const weights::Files& files_;
};

}  // namespace

std::unique_ptr<Coding> MakeBlockCoding(const weights::WeightSource& source, const program::WeightSpec& spec,
                                        bool is_exact, weights::Files* files) {
  return std::make_unique<BlockCoding>(source, spec, is_exact, files);
}

}  // namespace anllm::metal
