/** How much memory an op needs beside its values. */
#pragma once

#include "bind.h"

namespace anllm::program {

/** Memory that the threads of an op share. */
int64_t ScratchBytes(const BoundOp& op, const Limits& limits);
/** Memory of each thread. */
int64_t ThreadScratchBytes(const BoundOp& op);

}  // namespace anllm::program
