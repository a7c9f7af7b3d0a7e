#include "state_pool.h"

#include <cstring>

namespace anllm::program {
namespace {

uint8_t* SlotOf(float* base, int64_t bytes, int64_t slot) {
  return reinterpret_cast<uint8_t*>(base) + slot * bytes;
}

}  // namespace

StatePool::LayerBytes StatePool::BytesOf(const StateLayer& layer) {
  const int64_t channels = 2 * layer.key_heads * layer.key_dim + layer.value_heads * layer.value_dim;
  return {(layer.taps - 1) * channels * 4, layer.value_heads * layer.key_dim * layer.value_dim * 4};
}

StatePool::StatePool(const std::vector<StateLayerSpec>& specs, int64_t slots)
    : count_(specs.empty() ? 0 : slots), slots_(static_cast<size_t>(count_)) {
  int64_t bytes = 0;
  for (const StateLayerSpec& spec : specs) {
    layers_.push_back({nullptr, nullptr, spec.key_heads, spec.value_heads, spec.key_dim, spec.value_dim,
                       spec.taps, spec.tiled});
    const LayerBytes size = BytesOf(layers_.back());
    bytes += slots * (size.inputs + size.matrices);
  }
  memory_ = AlignedBuffer(static_cast<size_t>(bytes), "recurrent states");
  uint8_t* free = memory_.data();
  for (StateLayer& layer : layers_) {
    const LayerBytes size = BytesOf(layer);
    layer.inputs = reinterpret_cast<float*>(free);
    layer.matrices = reinterpret_cast<float*>(free + slots * size.inputs);
    free += slots * (size.inputs + size.matrices);
  }
}

void StatePool::Begin(const Step& step) {
  if (layers_.empty()) return;
  slots_.Begin(step);
  for (int64_t s = 0; s < step.sequences; s++) {
    const int64_t slot = step.state_slots[s];
    if (step.positions[step.offsets[s]] > 0) continue;
    for (const StateLayer& layer : layers_) {
      const LayerBytes size = BytesOf(layer);
      std::memset(SlotOf(layer.inputs, size.inputs, slot), 0, static_cast<size_t>(size.inputs));
      std::memset(SlotOf(layer.matrices, size.matrices, slot), 0, static_cast<size_t>(size.matrices));
    }
  }
}

BlockMemory StatePool::memory() const {
  std::vector<BlockPart> parts;
  for (const StateLayer& layer : layers_) {
    const LayerBytes size = BytesOf(layer);
    parts.push_back({SlotOf(layer.inputs, size.inputs, 0), static_cast<size_t>(size.inputs)});
    parts.push_back({SlotOf(layer.matrices, size.matrices, 0), static_cast<size_t>(size.matrices)});
  }
  return {std::move(parts), count_};
}

}  // namespace anllm::program
