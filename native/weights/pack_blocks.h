/** Decoded blocks in the layout of kernels/matrix.h. */
#pragma once

#include "gguf_blocks.h"

namespace anllm::weights {

/** Bytes of a group of `columns` columns of all rows of a block. */
int64_t GroupBytes(int64_t columns, Coding coding, Float scalar);

/**
 * Writes `columns` columns of 16 rows in groups of `group_size`. Returns how many scales or biases are not
 * finite in the scalar type, both of a group counted as one.
 */
int64_t PackGroups(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, Coding coding,
                   Float scalar, uint8_t* target);

/** Writes float32 values. Returns how many are not finite. */
int64_t PackFloats(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, uint8_t* target);

/** From groups of 16 to the nearest 8-bit codes in groups of 32, with scale and bias as binary16 holds them.
 */
void QuantizeToBytes(int64_t columns, DecodedBlocks* blocks);

/** Makes rows from `count` on zero. */
void ClearRows(int64_t count, int64_t columns, int64_t group_size, DecodedBlocks* blocks);

}  // namespace anllm::weights
