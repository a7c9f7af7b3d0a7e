/** The tokens that greedy requests draw, without their logits leaving the addon. */
#pragma once

#include <cstdint>

namespace anllm::program {

/**
 * ids [rows]: of the first `columns` of each row of logits [rows, stride], where the largest is; the first
 * among equals, -1 where the largest is not finite.
 */
void Likeliest(const float* logits, int64_t rows, int64_t stride, int64_t columns, int32_t* ids);

}  // namespace anllm::program
