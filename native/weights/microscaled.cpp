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

std::string PlaceOf(const WeightSource& source) {
  return source.tensor.file + ": " + source.tensor.name;
}

}  // namespace

const MicroscaledMode& MicroscaledModeOf(const WeightSource& source) {
  for (const MicroscaledMode& mode : kModes) {
    if (source.format == mode.name) return mode;
  }
  throw Unsupported(PlaceOf(source) + ": got mode " + source.format +
                    ", which the native engine does not know");
}

MicroscaledTensors::MicroscaledTensors(const WeightSource& source, const program::WeightSpec& spec,
                                       Files* files)
    : source_(source), cols_(spec.cols), mode_(MicroscaledModeOf(source)), files_(*files) {
  const std::string place = PlaceOf(source);
  if (source.group_size != mode_.group_size || spec.cols % mode_.group_size != 0 || spec.cols % 8 != 0) {
    throw BadModel(place + ": got " + std::to_string(spec.cols) + " columns in groups of " +
                   std::to_string(source.group_size) + ", expected groups of " +
                   std::to_string(mode_.group_size));
  }
  if (source.tensor.type != ElementType::kU32) throw BadModel(place + ": expected packed codes as U32");
  if (source.scales.type != ElementType::kU8) throw BadModel(place + ": expected scales as U8");
  CheckTensor(source.tensor, spec.rows, spec.cols * mode_.bits / 32);
  CheckTensor(source.scales, spec.rows, spec.cols / mode_.group_size);
  files->Open(source.tensor);
  files->Open(source.scales);
}

MicroscaledTensors::Rows MicroscaledTensors::Read(int64_t first, int64_t last) const {
  return {files_.Read(source_.tensor, first * code_bytes(), last * code_bytes()),
          files_.Read(source_.scales, first * groups(), last * groups())};
}

void MicroscaledTensors::CheckFinite(int64_t bad, const char* what) const {
  if (bad > 0) throw BadModel(PlaceOf(source_) + ": " + std::to_string(bad) + " " + what + " not finite");
}

}  // namespace anllm::weights
