/** How many threads compute best here. */
#pragma once

namespace anllm {

/**
 * Cores that this process may use: physical ones, because two hardware threads of a core share what kernels
 * need; of Apple's only the performance cores; no more than a container's quota, nor than kMaxThreads.
 */
int DefaultThreads();

/** Beyond it, memory bandwidth is spent and waiting for each other costs more than another thread gives. */
constexpr int kMaxThreads = 16;

}  // namespace anllm
