#include "kv_pool.h"

#include <cstring>

#include "../error.h"

namespace anllm::program {
namespace {

int64_t ElementBytes(const KvLayer& layer) {
  return layer.is_half ? 2 : 4;
}
int64_t KeyBytes(const KvLayer& layer) {
  return layer.kv_heads * kKvBlock * layer.key_dim * ElementBytes(layer);
}
int64_t ValueBytes(const KvLayer& layer) {
  return layer.kv_heads * kKvBlock * layer.value_stride * ElementBytes(layer);
}

void CopyBlock(uint8_t* base, int64_t bytes, int64_t from, int64_t to) {
  std::memcpy(base + to * bytes, base + from * bytes, static_cast<size_t>(bytes));
}

}  // namespace

KvPool::KvPool(const std::vector<KvLayerSpec>& specs, int64_t blocks, bool is_half) : blocks_(blocks) {
  int64_t bytes = 0;
  for (const KvLayerSpec& spec : specs) {
    const int64_t stride = (spec.value_dim + 15) / 16 * 16;
    layers_.push_back({nullptr, nullptr, spec.kv_heads, spec.key_dim, spec.value_dim, stride, is_half});
    bytes += blocks * (KeyBytes(layers_.back()) + ValueBytes(layers_.back()));
  }
  memory_ = AlignedBuffer(static_cast<size_t>(bytes), "keys and values");
  uint8_t* free = memory_.data();
  for (KvLayer& layer : layers_) {
    layer.keys = free;
    layer.values = free + blocks * KeyBytes(layer);
    free = layer.values + blocks * ValueBytes(layer);
  }
}

void KvPool::Copy(const int32_t* pairs, int64_t size) const {
  if (size % 2 != 0) throw BadRequest("[copy_blocks] got an odd number of blocks, expected pairs");
  for (int64_t i = 0; i < size; i++) {
    if (pairs[i] >= 0 && pairs[i] < blocks_) continue;
    throw BadRequest("[copy_blocks] block: got " + std::to_string(pairs[i]) + ", expected 0 to " +
                     std::to_string(blocks_ - 1));
  }
  for (int64_t i = 0; i < size; i += 2) {
    if (pairs[i] == pairs[i + 1]) continue;
    for (const KvLayer& layer : layers_) {
      CopyBlock(layer.keys, KeyBytes(layer), pairs[i], pairs[i + 1]);
      CopyBlock(layer.values, ValueBytes(layer), pairs[i], pairs[i + 1]);
    }
  }
}

}  // namespace anllm::program
