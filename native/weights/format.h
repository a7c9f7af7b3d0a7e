/**
 * A checkpoint's coding of a matrix, and how it becomes the layout of kernels/matrix.h. One class a coding.
 */
#pragma once

#include <memory>

#include "../program/program.h"
#include "file.h"

namespace anllm::weights {

class Format {
 public:
  virtual ~Format() = default;
  /** The packed matrix, without data. */
  virtual Matrix Layout() const = 0;
  /** Reads and packs blocks [first, last) to `target`. Called by several threads. Throws Error bad_model. */
  virtual void Pack(int64_t first, int64_t last, uint8_t* target) const = 0;
};

std::unique_ptr<Format> MakeDenseFormat(const WeightSource& source, const program::WeightSpec& spec,
                                        Files* files);
std::unique_ptr<Format> MakeAffineFormat(const WeightSource& source, const program::WeightSpec& spec,
                                         Files* files);

/** MLX's float modes: those of 4 bits, and mxfp8. */
std::unique_ptr<Format> MakeE2m1Format(const WeightSource& source, const program::WeightSpec& spec,
                                       Files* files);
std::unique_ptr<Format> MakeMicroscaledFormat(const WeightSource& source, const program::WeightSpec& spec,
                                              Files* files);
/** `is_fast`: the weights need only be as exact as int8 activations are. */
std::unique_ptr<Format> MakeGgufFormat(const WeightSource& source, const program::WeightSpec& spec,
                                       bool is_fast, Files* files);

/** The same weights as float32; formats of floats stay as they are. */
std::unique_ptr<Format> MakeDequantizedFormat(std::unique_ptr<Format> format);

int64_t NumBlocks(const Matrix& matrix);
/** Throws Error bad_model or unsupported when MLX's affine tensors are not those of the matrix. */
void CheckAffine(const WeightSource& source, const program::WeightSpec& spec);
/** Throws Error bad_model when one of the values is infinite or not a number. */
void CheckFinite(const StoredTensor& tensor, const Bytes& bytes);

}  // namespace anllm::weights
