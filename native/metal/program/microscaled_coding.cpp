#include <cmath>
#include <cstring>

#include "../../weights/half.h"
#include "../../weights/microscaled.h"
#include "group_writer.h"

namespace anllm::metal {
namespace {

constexpr int64_t kStepBits = 5;

/** E2M1 has 25 evenly spaced values at most, so a number of 5 bits holds one; E4M3 times its scale is a
 * bfloat16. */
class MicroscaledCoding : public Coding {
 public:
  MicroscaledCoding(const weights::WeightSource& source, const program::WeightSpec& spec,
                    weights::Files* files)
      : Coding(MatrixOf(source, spec)), tensors_(source, spec, files), mode_(tensors_.mode()) {}

  void Write(int64_t first, int64_t last, const RowsPlace& place) const override {
    const weights::MicroscaledTensors::Rows rows = tensors_.Read(first, last);
    const weights::Bytes& scales = rows.scales;
    const int64_t groups = (last - first) * tensors_.groups();
    const auto group_codes = [&](int64_t g) {
      return rows.codes.data() + g * mode_.group_size * mode_.bits / 8;
    };
    const int64_t bad = matrix().type == DTYPE_AFFINE ? WriteSteps(group_codes, scales, groups, place)
                                                      : WriteFloats(group_codes, scales, groups, place);
    tensors_.CheckFinite(bad, "scales or values");
  }

 private:
  static Matrix MatrixOf(const weights::WeightSource& source, const program::WeightSpec& spec) {
    const weights::MicroscaledMode& mode = weights::MicroscaledModeOf(source);
    Matrix matrix{.rows = static_cast<uint32_t>(spec.rows),
                  .columns = static_cast<uint32_t>(spec.cols),
                  .type = DTYPE_BF16};
    // Rows of packed numbers are whole runs of 32.
    if (mode.bits == 8 || spec.cols % 32 != 0) return matrix;
    matrix.type = DTYPE_AFFINE;
    matrix.bits = kStepBits;
    matrix.group_size = static_cast<uint32_t>(mode.group_size);
    matrix.scale_type = DTYPE_BF16;
    return matrix;
  }

  template <class GroupCodes>
  int64_t WriteSteps(const GroupCodes& group_codes, const weights::Bytes& scales, int64_t groups,
                     const RowsPlace& place) const {
    GroupWriter writer(matrix(), place);
    for (int64_t g = 0; g < groups; g++) {
      uint8_t steps[32];
      for (int64_t c = 0; c < mode_.group_size; c++) steps[c] = kE2m1Steps[mode_.Code(group_codes(g), c)];
      const float scale = mode_.scale(scales[static_cast<size_t>(g)]) / 2.0f;
      writer.Add(steps, scale, -kE2m1Zero * scale);
    }
    return writer.bad();
  }

  template <class GroupCodes>
  int64_t WriteFloats(const GroupCodes& group_codes, const weights::Bytes& scales, int64_t groups,
                      const RowsPlace& place) const {
    int64_t bad = 0;
    uint8_t* target = place.data;
    for (int64_t g = 0; g < groups; g++) {
      const float scale = mode_.scale(scales[static_cast<size_t>(g)]);
      for (int64_t c = 0; c < mode_.group_size; c++, target += 2) {
        const float value = mode_.element(mode_.Code(group_codes(g), c)) * scale;
        if (!std::isfinite(value)) bad++;
        const uint16_t bits = weights::TruncateToBfloat(value);
        std::memcpy(target, &bits, 2);
      }
    }
    return bad;
  }

  const weights::MicroscaledTensors tensors_;
  const weights::MicroscaledMode& mode_;
};

}  // namespace

std::unique_ptr<Coding> MakeMicroscaledCoding(const weights::WeightSource& source,
                                              const program::WeightSpec& spec, weights::Files* files) {
  return std::make_unique<MicroscaledCoding>(source, spec, files);
}

}  // namespace anllm::metal
