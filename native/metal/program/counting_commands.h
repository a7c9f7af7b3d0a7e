/** A command buffer that only counts: to find at load what a device lacks, and to know a step's dispatches.
 */
#pragma once

#include "../device.h"

namespace anllm::metal {

class CountingCommands : public CommandBuffer {
 public:
  void SetPipeline(const Pipeline&) override {}
  void SetBuffer(uint32_t, const BufferView&) override {}
  void SetBytes(uint32_t, const void*, size_t) override {}
  void SetThreadgroupMemory(uint32_t) override {}
  void Dispatch(Extent, uint32_t) override { dispatches++; }
  void Barrier() override { barriers++; }
  void Commit() override {}
  void WaitUntilCompleted() override {}

  int64_t dispatches = 0;
  int64_t barriers = 0;
};

}  // namespace anllm::metal
