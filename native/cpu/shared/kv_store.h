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

/**
 * Up to kKvGroup columns as codes round(x / scale), with the scale that makes the largest 127. Codes behind
 * the last column become zero.
 */
ANLLM_INLINE float QuantizeGroup(const float* x, int64_t columns, int8_t codes[kKvGroup]) {
  F32 vectors[kKvGroup / 16] = {Zero(), Zero()};
  ForVectors(columns, [&](int64_t i, int lanes) { vectors[i / 16] = LoadLanes(x + i, lanes); });
  const float largest = Highest(Max(Abs(vectors[0]), Abs(vectors[1])));
  const F32 inverse = Set(largest > 0.0f ? 127.0f / largest : 0.0f);
  for (int v = 0; v < 2; v++) StoreBytes(codes + 16 * v, ToInt(vectors[v] * inverse));
  return largest / 127.0f;
}

ANLLM_INLINE void StoreKeyCodes(const KvLayer& kv, uint8_t* head_keys, int64_t offset, const float* key) {
  float* scales = reinterpret_cast<float*>(head_keys + kv.key_dim * kKvBlock);
  for (int64_t begin = 0; begin < kv.key_dim; begin += kKvGroup) {
    const int64_t columns = Smaller(kKvGroup, kv.key_dim - begin);
    int8_t codes[kKvGroup];
    scales[begin / kKvGroup * kKvBlock + offset] = QuantizeGroup(key + begin, columns, codes);
    int8_t* target = reinterpret_cast<int8_t*>(head_keys) + begin * kKvBlock + offset;
    for (int64_t i = 0; i < columns; i++) target[i * kKvBlock] = codes[i];
  }
}

/** One head's key, transposed: neighbouring tokens lie together. */
ANLLM_INLINE void StoreKey(const KvLayer& kv, KvSlot slot, int64_t head, const float* key) {
  uint8_t* head_keys = kv.keys + (slot.block * kv.kv_heads + head) * KeyBytes(kv);
  switch (kv.format) {
    case KvFormat::kFloat: {
      float* target = reinterpret_cast<float*>(head_keys) + slot.offset;
      for (int64_t i = 0; i < kv.key_dim; i++) target[i * kKvBlock] = key[i];
      break;
    }
    case KvFormat::kHalf: {
      uint16_t* target = reinterpret_cast<uint16_t*>(head_keys) + slot.offset;
      ForVectors(kv.key_dim, [&](int64_t i, int lanes) {
        uint16_t half[16];
        StoreHalf(half, LoadLanes(key + i, lanes));
        for (int lane = 0; lane < lanes; lane++) target[(i + lane) * kKvBlock] = half[lane];
      });
      break;
    }
    case KvFormat::kInt8:
      StoreKeyCodes(kv, head_keys, slot.offset, key);
      break;
  }
}

ANLLM_INLINE void StoreValueCodes(const KvLayer& kv, uint8_t* head_values, int64_t offset,
                                  const float* value) {
  const int64_t stride = kv.value_stride;
  float* scales = reinterpret_cast<float*>(head_values + kKvBlock * stride) + offset * KvGroups(stride);
  int8_t* target = reinterpret_cast<int8_t*>(head_values) + offset * stride;
  for (int64_t begin = 0; begin < stride; begin += kKvGroup) {
    int8_t codes[kKvGroup];
    const int64_t columns = Larger(0, Smaller(kKvGroup, kv.value_dim - begin));
    scales[begin / kKvGroup] = QuantizeGroup(value + begin, columns, codes);
    __builtin_memcpy(target + begin, codes, static_cast<size_t>(Smaller(kKvGroup, stride - begin)));
  }
}

/** One head's value; the padding up to value_stride becomes zero. */
ANLLM_INLINE void StoreValue(const KvLayer& kv, KvSlot slot, int64_t head, const float* value) {
  uint8_t* head_values = kv.values + (slot.block * kv.kv_heads + head) * ValueBytes(kv);
  if (kv.format == KvFormat::kInt8) {
    StoreValueCodes(kv, head_values, slot.offset, value);
    return;
  }
  const int64_t start = slot.offset * kv.value_stride;
  ForVectors(kv.value_dim, [&](int64_t i, int lanes) {
    const F32 x = LoadLanes(value + i, lanes);
    if (kv.format == KvFormat::kHalf) {
      StoreHalf(reinterpret_cast<uint16_t*>(head_values) + start + i, x);
    } else {
      Store(reinterpret_cast<float*>(head_values) + start + i, x);
    }
  });
}

}  // namespace anllm::ANLLM_ISA
