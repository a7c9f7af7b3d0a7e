/** One row of a matrix as floats, for the embedding. */
#pragma once

#include "../../kernels/matrix.h"

namespace anllm::ANLLM_ISA {

/** out [w.cols] = row `row` of w. */
void DecodeRow(const Matrix& w, int64_t row, float* out);

}  // namespace anllm::ANLLM_ISA
