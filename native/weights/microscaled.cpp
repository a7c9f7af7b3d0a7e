#include "microscaled.h"

#include <cmath>

#include "../error.h"

namespace anllm::weights {
namespace {

float DecodeE2m1(int code) {
  return static_cast<float>(kE2m1Steps[code] - kE2m1Zero) / 2.0f;
}
float DecodeE4m3(int code) {
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}
/** A power of two. */
float DecodeE8m0(int code) {
  return code == 255 ? NAN : std::ldexp(1.0f, code - 127);
}

constexpr MicroscaledMode kModes[] = {
    {"mxfp4", 4, 32, DecodeE2m1, DecodeE8m0},
    {"mxfp8", 8, 32, DecodeE4m3, DecodeE8m0},
    {"nvfp4", 4, 16, DecodeE2m1, DecodeE4m3},
};

}  // namespace

const MicroscaledMode& MicroscaledModeOf(const WeightSource& source) {
  for (const MicroscaledMode& mode : kModes) {
    if (source.format == mode.name) return mode;
  }
  throw Unsupported(source.tensor.file + ": " + source.tensor.name + ": got mode " + source.format +
                    ", which the native engine does not know");
}

void CheckMicroscaled(const WeightSource& source, const program::WeightSpec& spec) {
  const MicroscaledMode& mode = MicroscaledModeOf(source);
  const std::string place = source.tensor.file + ": " + source.tensor.name;
  if (source.group_size != mode.group_size || spec.cols % mode.group_size != 0 || spec.cols % 8 != 0) {
    throw BadModel(place + ": got " + std::to_string(spec.cols) + " columns in groups of " +
                   std::to_string(source.group_size) + ", expected groups of " +
                   std::to_string(mode.group_size));
  }
  if (source.tensor.type != ElementType::kU32) throw BadModel(place + ": expected packed codes as U32");
  if (source.scales.type != ElementType::kU8) throw BadModel(place + ": expected scales as U8");
  CheckTensor(source.tensor, spec.rows, spec.cols * mode.bits / 32);
  CheckTensor(source.scales, spec.rows, spec.cols / mode.group_size);
}

}  // namespace anllm::weights
