#include <algorithm>
#include <cstring>
#include <vector>

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
    int64_t bad = 0;
    for (int64_t row = first; row < last; row += kBlockRows) {
      const int64_t count = std::min(kBlockRows, last - row);
      bad += WriteRows(bytes.data() + (row - first) * row_bytes_, count, At(place, row - first));
    }
    if (bad > 0) {
      throw BadModel(tensor_.file + ": " + tensor_.name + ": " + std::to_string(bad) +
                     " scales or values not finite");
    }
  }

 private:
  /** Where row `row` of what begins at `place` goes. */
  RowsPlace At(const RowsPlace& place, int64_t row) const {
    const auto scales = row * static_cast<int64_t>(RowScaleBytes(matrix()));
    return {place.data + row * static_cast<int64_t>(RowBytes(matrix())), place.scales + scales,
            place.biases + scales};
  }

  /** Up to 16 rows; returns how many groups have a scale or bias that is not finite. */
  int64_t WriteRows(const uint8_t* source, int64_t count, const RowsPlace& place) const {
    weights::RowPointers blocks;
    for (int64_t i = 0; i < kBlockRows; i++) blocks.row[i] = source + (i < count ? i * row_bytes_ : 0);
    std::vector<GroupWriter> writers;
    for (int64_t i = 0; i < count; i++) writers.emplace_back(matrix(), At(place, i));
    weights::DecodedBlocks decoded;
    for (int64_t column = 0; column < matrix().columns; column += format_.columns) {
      format_.decode(blocks, &decoded);
      for (const uint8_t*& row : blocks.row) row += format_.bytes;
      for (int64_t i = 0; i < count; i++) AddRow(decoded, i, &writers[static_cast<size_t>(i)]);
    }
    int64_t bad = 0;
    for (const GroupWriter& writer : writers) bad += writer.bad();
    return bad;
  }

  void AddRow(const weights::DecodedBlocks& decoded, int64_t row, GroupWriter* writer) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(decoded.quads) + 4 * row;
    for (int64_t g = 0; g < format_.columns / format_.group_size; g++) {
      uint8_t codes[weights::kCodeGroup];
      for (int64_t c = 0; c < format_.group_size; c += 4, bytes += sizeof(weights::Words))
        std::memcpy(codes + c, bytes, 4);
      if (format_.coding == anllm::Coding::kE2m1) {
        for (uint8_t& code : codes) code = kE2m1Steps[code];
      }
      writer->Add(codes, decoded.scale[g].v[row / 4][row % 4], decoded.bias[g].v[row / 4][row % 4]);
    }
  }

  static Matrix MatrixOf(const weights::WeightSource& source, const program::WeightSpec& spec,
                         bool is_exact) {
    const BlockFormat& format = weights::BlockFormatOf(source);
    if (spec.cols % format.columns != 0) {
      throw BadModel(source.tensor.file + ": " + source.tensor.name + ": got " + std::to_string(spec.cols) +
                     " columns, expected a multiple of " + std::to_string(format.columns));
    }
    const Float scalar = !is_exact && format.scalar == Float::kF32 ? Float::kF16 : format.scalar;
    return {.rows = static_cast<uint32_t>(spec.rows),
            .columns = static_cast<uint32_t>(spec.cols),
            .type = DTYPE_AFFINE,
            .bits = static_cast<uint32_t>(format.bits),
            .group_size = static_cast<uint32_t>(format.group_size),
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
