/** Writing keys and values into their block. */
#pragma once

#include "parallel.h"

namespace anllm::ANLLM_ISA {

/** Block of the pool, and place in it, of row `row` of the step. */
struct KvSlot {
  int64_t block;
  int64_t offset;
};

ANLLM_INLINE KvSlot SlotOfRow(const Step& step, int64_t row) {
  const int64_t position = step.positions[row];
  const int64_t entry = step.sequence_of[row] * step.blocks_per_sequence + position / kKvBlock;
  return {step.block_tables[entry], position % kKvBlock};
}

/** One head's key, transposed: neighbouring tokens lie together. */
ANLLM_INLINE void StoreKey(const KvLayer& kv, KvSlot slot, int64_t head, const float* key) {
  const int64_t start = (slot.block * kv.kv_heads + head) * kv.key_dim * kKvBlock + slot.offset;
  if (!kv.is_half) {
    float* target = reinterpret_cast<float*>(kv.keys) + start;
    for (int64_t i = 0; i < kv.key_dim; i++) target[i * kKvBlock] = key[i];
    return;
  }
  uint16_t* target = reinterpret_cast<uint16_t*>(kv.keys) + start;
  ForVectors(kv.key_dim, [&](int64_t i, int lanes) {
    uint16_t half[16];
    StoreHalf(half, LoadLanes(key + i, lanes));
    for (int lane = 0; lane < lanes; lane++) target[(i + lane) * kKvBlock] = half[lane];
  });
}

/** One head's value; the padding up to value_stride becomes zero. */
ANLLM_INLINE void StoreValue(const KvLayer& kv, KvSlot slot, int64_t head, const float* value) {
  const int64_t start = ((slot.block * kv.kv_heads + head) * kKvBlock + slot.offset) * kv.value_stride;
  ForVectors(kv.value_dim, [&](int64_t i, int lanes) {
    const F32 x = LoadLanes(value + i, lanes);
    if (kv.is_half) {
      StoreHalf(reinterpret_cast<uint16_t*>(kv.values) + start + i, x);
    } else {
      Store(reinterpret_cast<float*>(kv.values) + start + i, x);
    }
  });
}

}  // namespace anllm::ANLLM_ISA
