/** Which values of a program are halves. */
#pragma once

#include <vector>

#include "../../../metal/constants.h"
#include "../../program/program.h"

namespace anllm::metal {

/**
 * A type for every value. With `is_half` all that flows within a layer is binary16; the residual stream,
 * routes and logits stay float32. Values that a kernel reads as one type get one type.
 */
std::vector<DType> ValueTypes(const program::Program& program, bool is_half);

}  // namespace anllm::metal
