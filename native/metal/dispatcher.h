/** From an op's description to dispatches: finds the pipeline and binds what the kernel reads. */
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "../../metal/params.h"
#include "device.h"

namespace anllm::metal {

/** Threads of a simdgroup on every GPU that Metal runs on here. */
constexpr uint32_t kSimdWidth = 32;

constexpr uint32_t DivideUp(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

/** What one kernel run looks like; see metal/README.md for the rules that all kernels share. */
struct Launch {
  const char* kernel;
  Constants constants;
  Extent groups;
  uint32_t threads;
  uint32_t threadgroup_bytes = 0;
};

/** Makes each pipeline once and encodes dispatches into the current command buffer. */
class Dispatcher {
 public:
  explicit Dispatcher(Device& device) : device_(device) {}

  Device& device() { return device_; }
  /** `commands` receives all that follows. */
  void Begin(CommandBuffer& commands) { commands_ = &commands; }
  void Barrier() { commands_->Barrier(); }
  /** Pipelines are made again from now on. */
  void Forget() { pipelines_.clear(); }

  /**
   * Binds `buffers` at 0, 1, … and `params` after them. A view without a buffer belongs to a feature that the
   * constants turn off; the first view stands in for it, since every binding of a kernel has to be bound.
   */
  template <class Params>
  void Run(const Launch& launch, std::initializer_list<BufferView> buffers, const Params& params) {
    Run(launch, buffers, &params, sizeof(Params));
  }

 private:
  void Run(const Launch& launch, std::initializer_list<BufferView> buffers, const void* params, size_t size);
  const Pipeline& PipelineOf(const char* kernel, const Constants& constants);

  struct KeyOrder {
    bool operator()(const std::pair<std::string, Constants>& a,
                    const std::pair<std::string, Constants>& b) const;
  };

  Device& device_;
  CommandBuffer* commands_ = nullptr;
  std::map<std::pair<std::string, Constants>, std::unique_ptr<Pipeline>, KeyOrder> pipelines_;
};

}  // namespace anllm::metal
