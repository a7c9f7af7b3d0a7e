#include <algorithm>
#include <cmath>
#include <cstring>

#include "format.h"
#include "half.h"
#include "microscaled.h"

namespace anllm::weights {
namespace {

/**
 * MLX's mxfp8. Element times scale has four significant bits, so that bfloat16 holds the weights exactly;
 * only numbers below 2^-126, which no weight has, lose some.
 */
class MicroscaledFormat : public Format {
 public:
  MicroscaledFormat(const WeightSource& source, const program::WeightSpec& spec, Files* files)
      : rows_(spec.rows), cols_(spec.cols), tensors_(source, spec, files) {}

  Matrix Layout() const override {
    return {nullptr, rows_, cols_, cols_ * kBlockRows * 2, 0, Coding::kFloats, Float::kBf16};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const MicroscaledMode& mode = tensors_.mode();
    const auto [codes, scales] = tensors_.Read(begin, end);
    int64_t bad = 0;
    for (int64_t row = begin; row < end; row++) {
      const uint8_t* row_codes = codes.data() + (row - begin) * tensors_.code_bytes();
      uint8_t* place = target + ((row / kBlockRows - first) * cols_ * kBlockRows + row % kBlockRows) * 2;
      for (int64_t c = 0; c < cols_; c++, place += kBlockRows * 2) {
        const int code = mode.Code(row_codes, c);
        const int scale =
            scales[static_cast<size_t>((row - begin) * tensors_.groups() + c / mode.group_size)];
        const float value = mode.element(code) * mode.scale(scale);
        if (!std::isfinite(value)) bad++;
        const uint16_t bits = TruncateToBfloat(value);
        std::memcpy(place, &bits, 2);
      }
    }
    tensors_.CheckFinite(bad, "values");
  }

 private:
  const int64_t rows_;
  const int64_t cols_;
  const MicroscaledTensors tensors_;
};

}  // namespace

std::unique_ptr<Format> MakeMicroscaledFormat(const WeightSource& source, const program::WeightSpec& spec,
                                              Files* files) {
  return std::make_unique<MicroscaledFormat>(source, spec, files);
}

}  // namespace anllm::weights
