/** Parts of the self-test that ask the CPU what is right. */
#pragma once

#include "self_test_bench.h"

namespace anllm::metal {

/** The first `rows` of a sequence through a Gated DeltaNet; largest difference, relative to the largest
 * value. */
double TestGatedDelta(Bench& bench, uint32_t rows);

/** Share of wrong tokens among some that are drawn in all ways. */
double TestSample(Bench& bench);

}  // namespace anllm::metal
