/** From the commands of a program to command buffers. */
#pragma once

#include <atomic>

#include "../dispatcher.h"
#include "bind.h"

namespace anllm::metal {

class StepEncoder {
 public:
  /** `bound` outlives this. */
  StepEncoder(Device& device, const BoundProgram& bound) : dispatcher_(device), bound_(bound) {}

  Device& device() { return dispatcher_.device(); }

  /** Encodes all commands of a step into one command buffer. Throws Error unsupported. */
  void Encode(const StepInput& input, CommandBuffer& commands);
  /**
   * Runs a step as command buffers of a few milliseconds each, encoding the next while one runs. False when
   * `cancelled` was true between two of them. Throws GpuStopped when a kernel failed; none runs then.
   */
  bool Run(const StepInput& input, const std::atomic<bool>& cancelled);
  /** Makes the GPU usable again after a GpuStopped. Throws Error unavailable. */
  void Restart();

 private:
  /** Encodes one command, with a barrier before it if it needs one. */
  void Encode(const Command& command, const StepInput& input);

  Dispatcher dispatcher_;
  const BoundProgram& bound_;
  Hazards hazards_;
};

}  // namespace anllm::metal
