/** How a weight of a checkpoint becomes what the kernels read: floats, or the numbers of metal/quantized.h.
 */
#pragma once

#include <memory>

#include "../../program/program.h"
#include "../../weights/file.h"
#include "../operands.h"

namespace anllm::metal {

/** Where rows go; scales and biases of DTYPE_AFFINE only. */
struct RowsPlace {
  uint8_t* data;
  uint8_t* scales = nullptr;
  uint8_t* biases = nullptr;
};

class Coding {
 public:
  virtual ~Coding() = default;
  /** Without memory. */
  const Matrix& matrix() const { return matrix_; }
  /** Reads rows [first, last) and writes them. Called by several threads. Throws Error bad_model. */
  virtual void Write(int64_t first, int64_t last, const RowsPlace& place) const = 0;

 protected:
  explicit Coding(const Matrix& matrix) : matrix_(matrix) {}

 private:
  const Matrix matrix_;
};

/** Bytes of a row's values or packed numbers, and of its scales. */
size_t RowBytes(const Matrix& matrix);
size_t RowScaleBytes(const Matrix& matrix);

/**
 * `is_exact`: weights stand for what the checkpoint says to the last bit of a float32; else scales are
 * binary16 where a float32 would be needed. Throws Error bad_model or unsupported.
 */
std::unique_ptr<Coding> MakeCoding(const weights::WeightSource& source, const program::WeightSpec& spec,
                                   bool is_exact, weights::Files* files);

/**
 * GGUF's blocks as numbers with a scale and a bias for 32 of them; where the file has one for 16, as float32,
 * or the nearest 8-bit numbers.
 */
std::unique_ptr<Coding> MakeBlockCoding(const weights::WeightSource& source, const program::WeightSpec& spec,
                                        bool is_exact, weights::Files* files);

/** MLX's float modes: mxfp4 as numbers of 5 bits, mxfp8 and nvfp4 as bfloat16; both are exact. */
std::unique_ptr<Coding> MakeMicroscaledCoding(const weights::WeightSource& source,
                                              const program::WeightSpec& spec, weights::Files* files);

/** The same weights as float32; floats stay as they are. */
std::unique_ptr<Coding> MakeDecodedCoding(std::unique_ptr<Coding> coding);

/** Whether rows of both can lie in one matrix. */
bool AreCodedAlike(const Matrix& a, const Matrix& b);
/**
 * The smallest coding that holds what is coded like `a` and what is coded like `b` to the last bit: numbers
 * of the more bits in the smaller groups; float32 where floats are among them.
 */
Matrix CommonCoding(const Matrix& a, const Matrix& b);
/** The same weights coded like `target`, which holds theirs (see CommonCoding) or is float32. */
std::unique_ptr<Coding> Recoded(std::unique_ptr<Coding> coding, Matrix target);

}  // namespace anllm::metal
