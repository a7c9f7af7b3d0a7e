#include <algorithm>
#include <cmath>
#include <cstring>

#include "../error.h"
#include "format.h"
#include "gguf_blocks.h"

namespace anllm::weights {
namespace {

/**
 * Matrices in GGUF's blocks. Formats whose groups of 32 are codes with a scale and a bias keep their bits. In
 * the others a scale serves 16 values: they become float32, or, where activations are int8 anyway, the
 * nearest 8-bit codes.
 */
class GgufFormat : public Format {
 public:
  GgufFormat(const WeightSource& source, const program::WeightSpec& spec, bool is_fast, Files* files)
      : tensor_(source.tensor),
        rows_(spec.rows),
        cols_(spec.cols),
        block_(BlockFormatOf(source)),
        is_requantized_(is_fast && block_.groups == nullptr),
        coding_(CodingOf(block_, is_requantized_)),
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
    const int64_t block_bytes = cols_ / kCodeGroup * CodeGroupBytes(coding_, scalar_);
    return {nullptr, rows_, cols_, block_bytes, kCodeGroup, coding_, scalar_};
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
  static Coding CodingOf(const BlockFormat& block, bool is_requantized) {
    if (block.groups == nullptr) return is_requantized ? Coding::kBytes : Coding::kFloats;
    return block.bits <= 4 ? Coding::kNibbles : Coding::kBytes;
  }

  std::string Place() const { return tensor_.file + ": " + tensor_.name; }
  int64_t RowBytes() const { return cols_ / block_.columns * block_.bytes; }

  /** Packs one row; returns how many groups have a scale that is not finite. */
  int64_t PackGroups(const uint8_t* source, int64_t lane, uint8_t* target) const {
    const int64_t group_bytes = CodeGroupBytes(coding_, scalar_);
    CodeGroup groups[kMaxBlockColumns / kCodeGroup];
    int64_t bad = 0;
    for (int64_t column = 0; column < cols_; column += block_.columns, source += block_.bytes) {
      if (is_requantized_) {
        float values[kMaxBlockColumns];
        DecodeFineBlock(block_, source, values);
        for (int64_t c = 0; c < block_.columns; c += kCodeGroup) {
          groups[c / kCodeGroup] = QuantizeToBytes(values + c);
        }
      } else {
        block_.groups(source, groups);
      }
      for (int64_t c = 0; c < block_.columns; c += kCodeGroup, target += group_bytes) {
        if (!PackCodeGroup(groups[c / kCodeGroup], coding_, scalar_, lane, target)) bad++;
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
  const Float scalar_;
  const Files& files_;
};

}  // namespace

std::unique_ptr<Format> MakeGgufFormat(const WeightSource& source, const program::WeightSpec& spec,
                                       bool is_fast, Files* files) {
  return std::make_unique<GgufFormat>(source, spec, is_fast, files);
}

}  // namespace anllm::weights
