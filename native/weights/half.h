/** Conversions of 16-bit floats, for loading; kernels have their own. */
#pragma once

#include <cstdint>

namespace anllm::weights {

float WidenHalf(uint16_t bits);
float WidenBfloat(uint16_t bits);
/** The nearest binary16; infinity for what is too large. */
uint16_t NarrowHalf(float value);
/** The upper half of the bits, exact for what bfloat16 holds. */
uint16_t TruncateToBfloat(float value);

}  // namespace anllm::weights
