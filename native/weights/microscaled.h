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

}  // namespace anllm::weights
