/** Groups of codes with one scale and bias, and how they become the layout of kernels/matrix.h. */
#pragma once

#include <cstdint>

#include "../kernels/matrix.h"

namespace anllm::weights {

constexpr int64_t kCodeGroup = 32;

/** 32 neighbouring weights of a row: w = code * scale + bias. */
struct CodeGroup {
  uint8_t codes[kCodeGroup];
  float scale;
  float bias;
};

/** Groups of the formats whose scales serve 16 values. */
constexpr int64_t kFineGroup = 16;
struct FineGroup {
  uint8_t codes[kFineGroup];
  float scale;
  float bias;
};

/** Bytes of a group of `columns` columns of all rows of a block. */
int64_t CodeGroupBytes(int64_t columns, Coding coding, Float scalar);

/**
 * Writes one row's group to its lane of the packed group at `target`. Returns false when scale or bias are
 * not finite in the scalar type.
 */
bool PackCodeGroup(const CodeGroup& group, Coding coding, Float scalar, int64_t lane, uint8_t* target);
bool PackCodeGroup(const FineGroup& group, Coding coding, Float scalar, int64_t lane, uint8_t* target);

/** The nearest group of 8-bit codes to 32 values, with scale and bias as binary16 holds them. */
CodeGroup QuantizeToBytes(const float* values);

}  // namespace anllm::weights
