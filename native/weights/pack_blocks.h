/** Decoded blocks in the layout of kernels/matrix.h. */
#pragma once

#include "gguf_blocks.h"

namespace anllm::weights {

/**
 * Writes `columns` columns of 16 rows in groups of `group_size`. Returns how many groups have a scale or bias
 * that is not finite in the scalar type.
 */
int64_t PackGroups(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, Coding coding,
                   Float scalar, uint8_t* target);

/** 16 scales or biases of a group; returns how many are not finite in the scalar type. */
int64_t PackScalars(const Floats& values, Float scalar, uint8_t* target);

/** Makes rows from `count` on zero. */
void ClearRows(int64_t count, int64_t columns, int64_t group_size, DecodedBlocks* blocks);

}  // namespace anllm::weights
