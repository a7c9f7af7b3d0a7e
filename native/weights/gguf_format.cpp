#include <algorithm>

#include "../error.h"
#include "format.h"
#include "pack_blocks.h"

namespace anllm::weights {
namespace {

/**
 * Matrices in GGUF's blocks. Formats whose groups are codes with a scale and a bias keep their bits. Only
 * where a scale serves 16 values of more than 4 bits (Q6_K) they become float32, or, where activations are
 * int8 anyway, the nearest 8-bit codes in groups of 32.
 */
class GgufFormat : public Format {
 public:
  GgufFormat(const WeightSource& source, const program::WeightSpec& spec, bool is_fast, Files* files)
      : tensor_(source.tensor),
        rows_(spec.rows),
        cols_(spec.cols),
        block_(BlockFormatOf(source)),
        is_requantized_(is_fast && IsWide(block_)),
        coding_(CodingOf(block_, is_requantized_)),
        group_size_(is_requantized_ ? kCodeGroup : block_.group_size),
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
    if (coding_ == Coding::kFloats) {
      return {nullptr, rows_, cols_, cols_ * kBlockRows * int64_t{sizeof(float)}, 0, coding_, Float::kF32};
    }
    const int64_t block_bytes = cols_ / group_size_ * GroupBytes(group_size_, coding_, scalar_);
    return {nullptr, rows_, cols_, block_bytes, group_size_, coding_, scalar_};
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
    if (bad > 0) throw BadModel(Place() + ": " + std::to_string(bad) + " scales or values not finite");
  }

 private:
  /** Kernels have groups of 16 for nibbles only. */
  static bool IsWide(const BlockFormat& block) { return block.group_size < kCodeGroup && block.bits > 4; }
  static Coding CodingOf(const BlockFormat& block, bool is_requantized) {
    if (IsWide(block)) return is_requantized ? Coding::kBytes : Coding::kFloats;
    return block.bits <= 4 ? Coding::kNibbles : Coding::kBytes;
  }

  std::string Place() const { return tensor_.file + ": " + tensor_.name; }
  int64_t RowBytes() const { return cols_ / block_.columns * block_.bytes; }

  /** Packs up to 16 rows; returns how many scales or values are not finite. */
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
      if (coding_ == Coding::kFloats) {
        bad += PackFloats(decoded, block_.columns, block_.group_size, target);
      } else {
        if (is_requantized_) QuantizeToBytes(block_.columns, &decoded);
        bad += PackGroups(decoded, block_.columns, group_size_, coding_, scalar_, target);
      }
      target += packed_bytes;
    }
    return bad;
  }

  const StoredTensor tensor_;
  const int64_t rows_;
  const int64_t cols_;
  const BlockFormat& block_;
  const bool is_requantized_;
  const Coding coding_;
  const int64_t group_size_;
  const Float scalar_;
  const Files& files_;
};

}  // namespace

std::unique_ptr<Format> MakeGgufFormat(const WeightSource& source, const program::WeightSpec& spec,
                                       bool is_fast, Files* files) {
  return std::make_unique<GgufFormat>(source, spec, is_fast, files);
}

}  // namespace anllm::weights
