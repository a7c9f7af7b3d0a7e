/** How large a GPU is, which Metal does not say. */
#pragma once

#include "objc.h"

namespace anllm::metal::apple {

/** The GPU's cores as the system's registry of devices counts them; 0 where it does not say. */
uint32_t GpuCores(Id device);

}  // namespace anllm::metal::apple
