/** What this machine's memory gives, to compare a model's decoding speed with. */
#pragma once

namespace anllm {

/** Bytes a second that `threads` threads read from memory in order; the best of a few passes over 512 MiB. */
double MeasureMemoryBandwidth(int threads);

}  // namespace anllm
