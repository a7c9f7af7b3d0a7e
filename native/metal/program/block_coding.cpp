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
    for (const uint8_t* block = bytes.data(); block < bytes.data() + bytes.size(); block += format_.bytes) {
      if (format_.groups != nullptr) {
        WriteGroups<weights::CodeGroup>(format_.groups, block, &writer);
      } else {
        WriteGroups<weights::FineGroup>(format_.fine_groups, block, &writer);
      }
    }
    const int64_t bad = writer.bad();
    if (bad > 0) {
      throw BadModel(tensor_.file + ": " + tensor_.name + ": " + std::to_string(bad) +
                     " scales or values not finite");
    }
  }

 private:
  template <class Group>
  void WriteGroups(void (*decode)(const uint8_t*, Group*), const uint8_t* block, GroupWriter* writer) const {
    constexpr int64_t kSize = sizeof(Group::codes);
    Group groups[weights::kMaxBlockColumns / kSize];
    decode(block, groups);
    for (int64_t g = 0; g < format_.columns / kSize; g++)
      writer->Add(groups[g].codes, groups[g].scale, groups[g].bias);
  }

  static Matrix MatrixOf(const weights::WeightSource& source, const program::WeightSpec& spec,
                         bool is_exact) {
    const BlockFormat& format = weights::BlockFormatOf(source);
    if (spec.cols % format.columns != 0) {
      throw BadModel(source.tensor.file + ": " + source.tensor.name + ": got " + std::to_string(spec.cols) +
                     " columns, expected a multiple of " + std::to_string(format.columns));
    }
    const Float scalar = !is_exact && format.scalar == Float::kF32 ? Float::kF16 : format.scalar;
    const int64_t group_size = format.groups == nullptr ? weights::kFineGroup : weights::kCodeGroup;
    return {.rows = static_cast<uint32_t>(spec.rows),
            .columns = static_cast<uint32_t>(spec.cols),
            .type = DTYPE_AFFINE,
            .bits = static_cast<uint32_t>(format.bits),
            .group_size = static_cast<uint32_t>(group_size),
            .scale_type = scalar == Float::kF32   ? DTYPE_F32
                          : scalar == Float::kF16 ? DTYPE_F16
                                                  : DTYPE_BF16};
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
