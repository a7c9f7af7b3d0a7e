#include "kv_pool.h"

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

BlockMemory KvPool::blocks() const {
  std::vector<BlockPart> parts;
  for (const KvLayer& layer : layers_) {
    parts.push_back({layer.keys, static_cast<size_t>(KeyBytes(layer))});
    parts.push_back({layer.values, static_cast<size_t>(ValueBytes(layer))});
  }
  return {std::move(parts), blocks_};
}

}  // namespace anllm::program
