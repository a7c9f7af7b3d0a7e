/** How a token is drawn from a row of logits. Plain data, as in matrix.h. */
#pragma once

#include <stdint.h>

namespace anllm {

struct Draw {
  /** False: the row's logits are wanted instead. */
  bool is_wanted;
  /** 0: the likeliest token. */
  float temperature;
  int64_t top_k;  // 0: all
  double top_p;   // 1: all
  double min_p;   // 0: all
  /** Of the random number: see extension/engine/generation/philox.ts. */
  uint64_t seed;
  uint64_t index;
  /** Bit id % 32 of word id / 32: whether the token may be drawn; null: all may. */
  const uint32_t* allowed;
};

}  // namespace anllm
