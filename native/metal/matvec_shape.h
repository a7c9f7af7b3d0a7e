/** The division of work in metal/matvec.h, as encoders need it. */
#pragma once

#include <cstdint>

namespace anllm::metal {

/** Sets of rows of a simdgroup, and columns that it takes at a time: SETS and BLOCK. */
constexpr uint32_t kMatvecSets = 4;
constexpr uint32_t kMatvecBlock = 256;
/** Threadgroup memory of a simdgroup: STAGED float4. */
constexpr uint32_t kMatvecStagedBytes = 8 * 9 * 16;

/** The same in metal/linear_slices.metal: SLICE_SLOTS uint4. */
constexpr uint32_t kSliceStagedBytes = 2 * (32 + 4) * 16;
/** Outputs of a threadgroup for each row of a lane there: SLICE_SETS. */
constexpr uint32_t kSliceSets = 2;

}  // namespace anllm::metal
