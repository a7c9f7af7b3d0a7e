/** MLX's float modes: elements and scales of the OCP Microscaling Formats 1.0. */
#pragma once

#include "../program/program.h"
#include "file.h"
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

/** The tensors of a matrix. */
class MicroscaledTensors {
 public:
  /** Opens them. Throws Error bad_model when they are not those of a matrix of their mode. */
  MicroscaledTensors(const WeightSource& source, const program::WeightSpec& spec, Files* files);

  const MicroscaledMode& mode() const { return mode_; }
  /** Bytes of the codes of a row. */
  int64_t code_bytes() const { return cols_ * mode_.bits / 8; }
  /** Groups of a row. */
  int64_t groups() const { return cols_ / mode_.group_size; }

  /** [rows][code_bytes()] and [rows][groups()]. */
  struct Rows {
    Bytes codes;
    Bytes scales;
  };
  Rows Read(int64_t first, int64_t last) const;

  /** Throws Error bad_model when `bad` are not finite of what these are. */
  void CheckFinite(int64_t bad, const char* what) const;

 private:
  const WeightSource source_;
  const int64_t cols_;
  const MicroscaledMode& mode_;
  const Files& files_;
};

}  // namespace anllm::weights
