#include <algorithm>

#include "../error.h"
#include "../kernels/group_layout.h"
#include "format.h"
#include "pack_blocks.h"

namespace anllm::weights {
namespace {

/** Matrices in GGUF's blocks, in their own bits; where activations are int8 anyway, scales are binary16 at
 * most. */
class GgufFormat : public Format {
 public:
  GgufFormat(const WeightSource& source, const program::WeightSpec& spec, bool is_fast, Files* files)
      : tensor_(source.tensor),
        rows_(spec.rows),
        cols_(spec.cols),
        block_(BlockFormatOf(source)),
        scalar_(is_fast && block_.scalar == Float::kF32 ? Float::kF16 : block_.scalar),
        files_(*files) {
    if (cols_ % block_.columns != 0) {
      throw BadModel(Place() + ": got " + std::to_string(cols_) + " columns, expected a multiple of " +
                     std::to_string(block_.columns));
    }
    CheckTensor(tensor_, rows_, RowBytes());
    files->Open(tensor_);
  }

  Matrix Layout() const override {
    const int64_t group_bytes = GroupBytesOf(block_.coding, scalar_, block_.group_size);
    return {nullptr,           rows_,         cols_,  cols_ / block_.group_size * group_bytes,
            block_.group_size, block_.coding, scalar_};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const Bytes bytes = files_.Read(tensor_, begin * RowBytes(), end * RowBytes());
    const int64_t block_bytes = Layout().block_bytes;
    int64_t bad = 0;
    for (int64_t row = begin; row < end; row += kBlockRows, target += block_bytes) {
      bad += PackRows(bytes.data() + (row - begin) * RowBytes(), std::min(kBlockRows, end - row), target);
    }
    if (bad > 0) throw BadModel(Place() + ": " + std::to_string(bad) + " scales not finite");
  }

 private:
  std::string Place() const { return tensor_.file + ": " + tensor_.name; }
  int64_t RowBytes() const { return cols_ / block_.columns * block_.bytes; }

  /** Packs up to 16 rows; returns how many groups have a scale or bias that is not finite. */
  int64_t PackRows(const uint8_t* source, int64_t count, uint8_t* target) const {
    RowPointers blocks;
    for (int64_t i = 0; i < kBlockRows; i++) blocks.row[i] = source + (i < count ? i * RowBytes() : 0);
    const int64_t packed_bytes = Layout().block_bytes / (cols_ / block_.columns);
    DecodedBlocks decoded;
    int64_t bad = 0;
    for (int64_t column = 0; column < cols_; column += block_.columns) {
      block_.decode(blocks, &decoded);
      for (const uint8_t*& row : blocks.row) row += block_.bytes;
      if (count < kBlockRows) ClearRows(count, block_.columns, block_.group_size, &decoded);
      bad += PackGroups(decoded, block_.columns, block_.group_size, block_.coding, scalar_, target);
      target += packed_bytes;
    }
    return bad;
  }

  const StoredTensor tensor_;
  const int64_t rows_;
  const int64_t cols_;
  const BlockFormat& block_;
  const Float scalar_;
  const Files& files_;
};

}  // namespace

std::unique_ptr<Format> MakeGgufFormat(const WeightSource& source, const program::WeightSpec& spec,
                                       bool is_fast, Files* files) {
  return std::make_unique<GgufFormat>(source, spec, is_fast, files);
}

}  // namespace anllm::weights
