/** The recurrent states of all layers of one executable, by slot. */
#pragma once

#include "../aligned_buffer.h"
#include "block_memory.h"
#include "program.h"
#include "state_slots.h"

namespace anllm::program {

class StatePool {
 public:
  /** Throws Error out_of_memory. */
  StatePool(const std::vector<StateLayerSpec>& specs, int64_t slots);

  const std::vector<StateLayer>& layers() const { return layers_; }
  void Check(const BatchView& batch) const { slots_.Check(batch); }
  /** Clears the slots of sequences that start, and marks all slots of the step as void until `Commit`. */
  void Begin(const Step& step);
  void Commit(const Step& step) { slots_.Commit(step); }
  /** A block a slot. */
  BlockMemory memory() const;
  StateSlots& slots() { return slots_; }

 private:
  struct LayerBytes {
    int64_t inputs;
    int64_t matrices;
  };
  static LayerBytes BytesOf(const StateLayer& layer);

  std::vector<StateLayer> layers_;
  int64_t count_;
  StateSlots slots_;
  AlignedBuffer memory_;
};

}  // namespace anllm::program
