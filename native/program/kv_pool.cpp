#include "kv_pool.h"

namespace anllm::program {
namespace {

int64_t BlockKeyBytes(const KvLayer& layer) {
  return layer.kv_heads * KeyBytes(layer);
}
int64_t BlockValueBytes(const KvLayer& layer) {
  return layer.kv_heads * ValueBytes(layer);
}

}  // namespace

KvPool::KvPool(const std::vector<KvLayerSpec>& specs, int64_t blocks, KvFormat format) : blocks_(blocks) {
  int64_t bytes = 0;
  for (const KvLayerSpec& spec : specs) {
    const int64_t stride = (spec.value_dim + 15) / 16 * 16;
    layers_.push_back({nullptr, nullptr, spec.kv_heads, spec.key_dim, spec.value_dim, stride, format});
    bytes += blocks * (BlockKeyBytes(layers_.back()) + BlockValueBytes(layers_.back()));
  }
  memory_ = AlignedBuffer(static_cast<size_t>(bytes), "keys and values");
  uint8_t* free = memory_.data();
  for (KvLayer& layer : layers_) {
    layer.keys = free;
    layer.values = free + blocks * BlockKeyBytes(layer);
    free = layer.values + blocks * BlockValueBytes(layer);
  }
}

BlockMemory KvPool::blocks() const {
  std::vector<BlockPart> parts;
  for (const KvLayer& layer : layers_) {
    parts.push_back({layer.keys, static_cast<size_t>(BlockKeyBytes(layer))});
    parts.push_back({layer.values, static_cast<size_t>(BlockValueBytes(layer))});
  }
  return {std::move(parts), blocks_};
}

}  // namespace anllm::program
