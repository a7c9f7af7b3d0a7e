/** Which instruction sets this build has, and which of them this machine runs. */
#pragma once

#include <string>
#include <vector>

#include "kernels.h"

namespace anllm {

/** Tables that run here, the best first; the last is `scalar`. */
std::vector<const Kernels*> AvailableKernels();

/**
 * The table called `isa`, or the best one when it is empty. Throws Error unavailable that lists the
 * possible names.
 */
const Kernels* SelectKernels(const std::string& isa);

}  // namespace anllm
