/** A GPU in software behind the interface of native/metal/device.h. */
#pragma once

#include "../../../native/metal/device.h"
#include "worker.h"

namespace anllm::soft {

/**
 * Runs command buffers when they are committed, on the calling thread, one dispatch after the other, with the
 * kernels that are linked into the program. Deterministic. Faults of kernels are thrown by
 * `WaitUntilCompleted` as GpuStopped; from then on all command buffers fail until `Restart`, as a queue of
 * Metal's may. Whenever the environment variable ANLLM_SOFT_FAULTS has another value than before, "1" or
 * "1,…", so many command buffers fail next.
 */
class SoftDevice : public metal::Device {
 public:
  std::string name() const override { return "soft device"; }
  /** ANLLM_SOFT_SIMDGROUPS, so that tests see the plans for narrow and wide GPUs. */
  uint32_t busy_simdgroups() const override;
  std::unique_ptr<metal::Buffer> NewBuffer(size_t bytes) override;
  std::unique_ptr<metal::Buffer> WrapMemory(void* pages, size_t bytes) override;
  std::unique_ptr<metal::Pipeline> NewPipeline(const std::string& kernel,
                                               const metal::Constants& constants) override;
  std::unique_ptr<metal::CommandBuffer> NewCommandBuffer() override;
  void Restart() override { is_stopped = false; }

  Worker& worker() { return worker_; }
  /** Dispatches run so far. */
  uint64_t dispatches = 0;
  bool is_stopped = false;

 private:
  Worker worker_;
};

}  // namespace anllm::soft
