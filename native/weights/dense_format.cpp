#include <algorithm>
#include <cstring>

#include "format.h"

namespace anllm::weights {
namespace {

/** Columns of a tile that is transposed at once. */
constexpr int64_t kColumns = 32;

/** F32, F16 and BF16 matrices [rows, cols]; they keep their type. */
class DenseFormat : public Format {
 public:
  DenseFormat(const WeightSource& source, const program::WeightSpec& spec, Files* files)
      : tensor_(source.tensor),
        rows_(spec.rows),
        cols_(spec.cols),
        scalar_(ScalarOf(tensor_)),
        files_(*files) {
    CheckTensor(tensor_, rows_, cols_);
    files->Open(tensor_);
  }

  Matrix Layout() const override {
    return {nullptr, rows_, cols_, cols_ * kBlockRows * BytesOf(tensor_.type), 0, Coding::kFloats, scalar_};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    if (scalar_ == Float::kF32) {
      Transpose<uint32_t>(first, last, target);
    } else {
      Transpose<uint16_t>(first, last, target);
    }
  }

 private:
  /** Rows of a block lie in neighbouring lanes. */
  template <class Bits>
  void Transpose(int64_t first, int64_t last, uint8_t* target) const {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const int64_t row_bytes = cols_ * static_cast<int64_t>(sizeof(Bits));
    const Bytes bytes = files_.Read(tensor_, begin * row_bytes, end * row_bytes);
    for (int64_t row = begin; row < end; row += kBlockRows) {
      const int64_t lanes = std::min(kBlockRows, end - row);
      const uint8_t* source = bytes.data() + (row - begin) * row_bytes;
      for (int64_t c = 0; c < cols_; c += kColumns) {
        const int64_t columns = std::min(kColumns, cols_ - c);
        TransposeTile<Bits>(source + c * static_cast<int64_t>(sizeof(Bits)), lanes, columns, target);
        target += columns * kBlockRows * static_cast<int64_t>(sizeof(Bits));
      }
    }
  }

  template <class Bits>
  void TransposeTile(const uint8_t* source, int64_t lanes, int64_t columns, uint8_t* target) const {
    // By way of a copy: rows that are a power of two apart would push each other out of the cache.
    Bits tile[kBlockRows][kColumns];
    for (int64_t lane = 0; lane < lanes; lane++, source += cols_ * static_cast<int64_t>(sizeof(Bits)))
      std::memcpy(tile[lane], source, static_cast<size_t>(columns) * sizeof(Bits));
    for (int64_t c = 0; c < columns; c++, target += kBlockRows * sizeof(Bits)) {
      for (int64_t lane = 0; lane < lanes; lane++)
        std::memcpy(target + lane * static_cast<int64_t>(sizeof(Bits)), &tile[lane][c], sizeof(Bits));
    }
  }

  const StoredTensor tensor_;
  const int64_t rows_;
  const int64_t cols_;
  const Float scalar_;
  const Files& files_;
};

}  // namespace

std::unique_ptr<Format> MakeDenseFormat(const WeightSource& source, const program::WeightSpec& spec,
                                        Files* files) {
  return std::make_unique<DenseFormat>(source, spec, files);
}

}  // namespace anllm::weights
