/** Rotary position embedding (Su et al. 2021) of one head. */
#pragma once

#include "parallel.h"

namespace anllm::ANLLM_ISA {

/** Rotates the 2 * pairs columns of a head from `start` on, in place, by the angles of row `row` of the step.
 */
ANLLM_INLINE void RotateHead(const RopeTable& rope, int64_t row, float* head) {
  float* x = head + rope.start;
  const float* cos = rope.cos + row * rope.pairs;
  const float* sin = rope.sin + row * rope.pairs;
  if (rope.interleaved) {
    for (int64_t i = 0; i < rope.pairs; i++) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      x[2 * i] = a * cos[i] - b * sin[i];
      x[2 * i + 1] = b * cos[i] + a * sin[i];
    }
    return;
  }
  float* y = x + rope.pairs;
  ForVectors(rope.pairs, [&](int64_t i, int lanes) {
    const F32 a = LoadLanes(x + i, lanes);
    const F32 b = LoadLanes(y + i, lanes);
    const F32 c = LoadLanes(cos + i, lanes);
    const F32 s = LoadLanes(sin + i, lanes);
    StoreLanes(x + i, a * c - b * s, lanes);
    StoreLanes(y + i, b * c + a * s, lanes);
  });
}

}  // namespace anllm::ANLLM_ISA
