#include <algorithm>

#include "../kernels/group_layout.h"
#include "format.h"
#include "microscaled.h"
#include "pack_blocks.h"

namespace anllm::weights {
namespace {

/** Columns whose codes are a word of a row. */
constexpr int64_t kWordColumns = 8;

/** 8 nibbles, the first in the lowest bits, as kernels/matrix.h has them: nibbles 01234567 become 04152637.
 */
Words ShuffleNibbles(const Words& word) {
  const Words halves = (word & 0xff0000ff) | (word & 0x0000ff00) << 8 | (word & 0x00ff0000) >> 8;
  return (halves & 0xf00ff00f) | (halves & 0x00f000f0) << 4 | (halves & 0x0f000f00) >> 4;
}

/** MLX's mxfp4 and nvfp4, in 4 bits a weight. bfloat16 has half of a scale of either kind to the last bit. */
class E2m1Format : public Format {
 public:
  E2m1Format(const WeightSource& source, const program::WeightSpec& spec, Files* files)
      : rows_(spec.rows), cols_(spec.cols), tensors_(source, spec, files) {}

  Matrix Layout() const override {
    const int64_t group_size = tensors_.mode().group_size;
    const int64_t group_bytes = GroupBytesOf(Coding::kE2m1, Float::kBf16, group_size);
    return {nullptr, rows_, cols_, tensors_.groups() * group_bytes, group_size, Coding::kE2m1, Float::kBf16};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const auto [codes, scales] = tensors_.Read(begin, end);
    int64_t bad = 0;
    for (int64_t row = begin; row < end; row += kBlockRows, target += Layout().block_bytes) {
      bad += PackRows(codes.data() + (row - begin) * tensors_.code_bytes(),
                      scales.data() + (row - begin) * tensors_.groups(), std::min(kBlockRows, end - row),
                      target);
    }
    tensors_.CheckFinite(bad, "scales");
  }

 private:
  /** Packs up to 16 rows; returns how many scales are not finite. */
  int64_t PackRows(const uint8_t* codes, const uint8_t* scales, int64_t count, uint8_t* target) const {
    RowPointers rows;
    for (int64_t i = 0; i < kBlockRows; i++)
      rows.row[i] = codes + (i < count ? i * tensors_.code_bytes() : 0);
    const MicroscaledMode& mode = tensors_.mode();
    const int64_t groups = tensors_.groups();
    int64_t bad = 0;
    for (int64_t g = 0; g < groups; g++) {
      for (int64_t c = 0; c < mode.group_size; c += kWordColumns, target += sizeof(Words)) {
        const Words word = ShuffleNibbles(LoadWord(rows, (g * mode.group_size + c) / 2));
        std::memcpy(target, &word, sizeof(word));
      }
      // Rows that are none have a scale of zero.
      float halves[kBlockRows] = {};
      for (int64_t i = 0; i < count; i++) halves[i] = mode.scale(scales[i * groups + g]) / 2.0f;
      Floats lanes;
      std::memcpy(&lanes, halves, sizeof(lanes));
      bad += PackScalars(lanes, Float::kBf16, target);
      target += kBlockRows * 2;
    }
    return bad;
  }

  const int64_t rows_;
  const int64_t cols_;
  const MicroscaledTensors tensors_;
};

}  // namespace

std::unique_ptr<Format> MakeE2m1Format(const WeightSource& source, const program::WeightSpec& spec,
                                       Files* files) {
  return std::make_unique<E2m1Format>(source, spec, files);
}

}  // namespace anllm::weights
