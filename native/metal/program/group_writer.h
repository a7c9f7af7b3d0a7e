/** Groups of numbers as metal/quantized.h has them. */
#pragma once

#include <cstdint>

#include "../operands.h"
#include "coding.h"

namespace anllm::metal {

/** Writes the groups of an affine matrix one after the other, from the first of a row on. */
class GroupWriter {
 public:
  GroupWriter(const Matrix& matrix, const RowsPlace& place) : matrix_(matrix), place_(place) {}

  /** `codes`: group_size of them, each below 2^bits. */
  void Add(const uint8_t* codes, float scale, float bias);
  /** Groups so far whose scale or bias is not finite in its type. */
  int64_t bad() const { return bad_; }

 private:
  void AddScalar(float value, uint8_t** target);

  const Matrix& matrix_;
  RowsPlace place_;
  int64_t bad_ = 0;
};

}  // namespace anllm::metal
