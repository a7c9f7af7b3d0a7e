#include <algorithm>
#include <cmath>
#include <cstring>

#include "../error.h"
#include "format.h"
#include "gguf_blocks.h"

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
        group_size_(block_.groups == nullptr && !is_requantized_ ? kFineGroup : kCodeGroup),
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
    const int64_t block_bytes = cols_ / group_size_ * CodeGroupBytes(group_size_, coding_, scalar_);
    return {nullptr, rows_, cols_, block_bytes, group_size_, coding_, scalar_};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const Bytes bytes = files_.Read(tensor_, begin * RowBytes(), end * RowBytes());
    const int64_t block_bytes = Layout().block_bytes;
    int64_t bad = 0;
    for (int64_t row = begin; row < end; row++) {
      const uint8_t* source = bytes.data() + (row - begin) * RowBytes();
      uint8_t* block = target + (row / kBlockRows - first) * block_bytes;
      bad += coding_ == Coding::kFloats ? PackFloats(source, row % kBlockRows, block)
                                        : PackGroups(source, row % kBlockRows, block);
    }
    if (bad > 0) throw BadModel(Place() + ": " + std::to_string(bad) + " scales or values not finite");
  }

 private:
  /** Kernels have groups of 16 for nibbles only. */
  static bool IsWide(const BlockFormat& block) { return block.groups == nullptr && block.bits > 4; }
  static Coding CodingOf(const BlockFormat& block, bool is_requantized) {
    if (IsWide(block)) return is_requantized ? Coding::kBytes : Coding::kFloats;
    return block.bits <= 4 ? Coding::kNibbles : Coding::kBytes;
  }

  std::string Place() const { return tensor_.file + ": " + tensor_.name; }
  int64_t RowBytes() const { return cols_ / block_.columns * block_.bytes; }

  /** Packs one row; returns how many groups have a scale that is not finite. */
  int64_t PackGroups(const uint8_t* source, int64_t lane, uint8_t* target) const {
    if (is_requantized_) {
      return PackRow<CodeGroup>(source, lane, target, [&](const uint8_t* block, CodeGroup* groups) {
        float values[kMaxBlockColumns];
        DecodeFineBlock(block_, block, values);
        for (int64_t c = 0; c < block_.columns; c += kCodeGroup)
          groups[c / kCodeGroup] = QuantizeToBytes(values + c);
      });
    }
    return block_.groups == nullptr ? PackRow<FineGroup>(source, lane, target, block_.fine_groups)
                                    : PackRow<CodeGroup>(source, lane, target, block_.groups);
  }

  template <class Group, class Decode>
  int64_t PackRow(const uint8_t* source, int64_t lane, uint8_t* target, const Decode& decode) const {
    const int64_t group_bytes = CodeGroupBytes(group_size_, coding_, scalar_);
    Group groups[kMaxBlockColumns / sizeof(Group::codes)];
    int64_t bad = 0;
    for (int64_t column = 0; column < cols_; column += block_.columns, source += block_.bytes) {
      decode(source, groups);
      for (int64_t g = 0; g < block_.columns / group_size_; g++, target += group_bytes) {
        if (!PackCodeGroup(groups[g], coding_, scalar_, lane, target)) bad++;
      }
    }
    return bad;
  }

  /** Packs one row; returns how many values are not finite. */
  int64_t PackFloats(const uint8_t* source, int64_t lane, uint8_t* target) const {
    float values[kMaxBlockColumns];
    int64_t bad = 0;
    for (int64_t column = 0; column < cols_; column += block_.columns, source += block_.bytes) {
      DecodeFineBlock(block_, source, values);
      for (int64_t c = 0; c < block_.columns; c++) {
        if (!std::isfinite(values[c])) bad++;
        std::memcpy(target + ((column + c) * kBlockRows + lane) * 4, &values[c], 4);
      }
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
