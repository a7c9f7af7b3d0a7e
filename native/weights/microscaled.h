/** MLX's float modes: elements and scales of the OCP Microscaling Formats 1.0. */
#pragma once

#include "../program/program.h"
#include "source.h"

namespace anllm::weights {

struct MicroscaledMode {
  const char* name;
  int64_t bits;
  int64_t group_size;
  float (*element)(int code);
  float (*scale)(int code);

  /** Code of column `c` of a row. */
  int Code(const uint8_t* row, int64_t c) const { return bits == 8 ? row[c] : row[c / 2] >> c % 2 * 4 & 15; }
};

/** That of a source of kind kMicroscaled. Throws Error unsupported. */
const MicroscaledMode& MicroscaledModeOf(const WeightSource& source);

/** Throws Error bad_model when the tensors are not those of a matrix of the mode. */
void CheckMicroscaled(const WeightSource& source, const program::WeightSpec& spec);

/** E2M1 as whole numbers: value = (kE2m1Steps[code] - kE2m1Zero) / 2. */
constexpr uint8_t kE2m1Steps[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
constexpr int kE2m1Zero = 12;

}  // namespace anllm::weights
