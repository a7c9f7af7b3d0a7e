#include "soft_device.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <variant>

#include "../../../native/error.h"
#include "kernel.h"

namespace anllm::soft {

namespace {

/** For compilers of other devices: what ANLLM_PIPELINE_LOG names gets a line, the kernel and its constants.
 */
void LogPipeline(const std::string& kernel, const metal::Constants& constants) {
  const char* path = std::getenv("ANLLM_PIPELINE_LOG");
  if (path == nullptr) return;
  std::string line = kernel;
  for (size_t id = 0; id < sizeof(constants) / sizeof(uint32_t); id++)
    line += " " + std::to_string(reinterpret_cast<const uint32_t*>(&constants)[id]);
  std::ofstream(path, std::ios::app) << line + "\n";
}

/** Whether ANLLM_SOFT_FAULTS wants the next command buffer to fail; see SoftDevice. */
bool TakeWantedFault() {
  static std::string seen;
  static int left = 0;
  const char* wanted = std::getenv("ANLLM_SOFT_FAULTS");
  if (wanted != nullptr && seen != wanted) {
    seen = wanted;
    left = std::atoi(wanted);
  }
  return left > 0 && left-- > 0;
}

/** Whether ANLLM_SOFT_BROKEN names this kernel, or its form over keys and values of 8 bits (NAME/i8), which
 * then does nothing. */
bool IsBroken(const std::string& kernel, const metal::Constants& constants) {
  const char* broken = std::getenv("ANLLM_SOFT_BROKEN");
  if (broken == nullptr) return false;
  return kernel == broken || (constants.kv_type == DTYPE_I8 && kernel + "/i8" == broken);
}

class SoftBuffer : public metal::Buffer {
 public:
  explicit SoftBuffer(size_t bytes)
      : owned_(new uint64_t[(bytes + 7) / 8]()),
        data_(reinterpret_cast<uint8_t*>(owned_.get())),
        size_(bytes),
        marks_(data_, size_) {}
  SoftBuffer(void* memory, size_t bytes)
      : data_(static_cast<uint8_t*>(memory)), size_(bytes), marks_(data_, size_) {}

  uint8_t* contents() const override { return data_; }
  size_t size() const override { return size_; }
  TaskMarks& marks() { return marks_; }

 private:
  std::unique_ptr<uint64_t[]> owned_;
  uint8_t* data_;
  size_t size_;
  TaskMarks marks_;
};

struct SoftPipeline : public metal::Pipeline {
  std::string name;
  Kernel* kernel = nullptr;
  metal::Constants constants;
};

struct BarrierCommand {};

struct DispatchCommand {
  const SoftPipeline* pipeline = nullptr;
  metal::BufferView buffers[kMaxBindings];
  std::vector<uint8_t> bytes[kMaxBindings];
  uint32_t threadgroup_bytes = 0;
  metal::Extent groups;
  uint32_t threads = 0;
};

class SoftCommandBuffer : public metal::CommandBuffer {
 public:
  explicit SoftCommandBuffer(SoftDevice& device) : device_(device) {}

  void SetPipeline(const metal::Pipeline& pipeline) override {
    state_.pipeline = &static_cast<const SoftPipeline&>(pipeline);
  }
  void SetBuffer(uint32_t index, const metal::BufferView& view) override {
    if (index >= kMaxBindings) throw KernelFault("binding " + std::to_string(index) + " is out of range");
    if (view.buffer == nullptr || view.offset + view.size > view.buffer->size() || view.offset % 16 != 0) {
      throw KernelFault("binding " + std::to_string(index) + ": " + std::to_string(view.size) +
                        " bytes at offset " + std::to_string(view.offset) + " are not a part of its buffer");
    }
    state_.buffers[index] = view;
  }
  void SetBytes(uint32_t index, const void* bytes, size_t size) override {
    if (size > 4096) throw KernelFault("more than 4096 bytes of parameters");
    const auto* begin = static_cast<const uint8_t*>(bytes);
    state_.bytes[index].assign(begin, begin + size);
  }
  void SetThreadgroupMemory(uint32_t bytes) override { state_.threadgroup_bytes = bytes; }
  void Dispatch(metal::Extent groups, uint32_t threads) override {
    if (threads == 0 || threads > state_.pipeline->kernel->max_threads || threads % kSimdWidth != 0) {
      throw KernelFault(state_.pipeline->name + ": " + std::to_string(threads) + " threads in a threadgroup");
    }
    state_.groups = groups;
    state_.threads = threads;
    commands_.emplace_back(state_);
    // Nothing is carried over: each dispatch binds all that it uses.
    state_ = {};
  }
  void Barrier() override { commands_.emplace_back(BarrierCommand{}); }

  void Commit() override {
    // Kernels and their constants exist once in a process.
    static std::mutex one_device;
    const std::lock_guard<std::mutex> lock(one_device);
    try {
      if (device_.is_stopped) throw KernelFault("the queue has stopped");
      if (TakeWantedFault()) throw KernelFault("a fault that a test wanted");
      for (const auto& command : commands_) {
        if (const auto* dispatch = std::get_if<DispatchCommand>(&command)) {
          Run(*dispatch);
        } else {
          device_.worker().Barrier();
        }
      }
    } catch (const KernelFault& fault) {
      failure_ = fault.what();
      device_.is_stopped = true;
    }
    device_.worker().Barrier();
  }
  void WaitUntilCompleted() override {
    if (!failure_.empty()) throw metal::GpuStopped(failure_);
  }

 private:
  void Run(const DispatchCommand& command) {
    const SoftPipeline& pipeline = *command.pipeline;
    if (IsBroken(pipeline.name, pipeline.constants)) return;
    Bindings bindings;
    bindings.threadgroup_memory = &device_.worker().threadgroup_memory();
    for (unsigned i = 0; i < kMaxBindings; i++) {
      const metal::BufferView& view = command.buffers[i];
      if (view.buffer != nullptr) {
        const uint8_t* begin = view.buffer->contents() + view.offset;
        bindings.memory[i] = {begin, begin + view.size, &static_cast<SoftBuffer*>(view.buffer)->marks(), i};
      }
      if (!command.bytes[i].empty()) {
        bindings.bytes[i] = command.bytes[i].data();
        bindings.sizes[i] = command.bytes[i].size();
      }
    }
    std::vector<std::pair<uint32_t, uint32_t>> constants(sizeof(metal::Constants) / sizeof(uint32_t));
    for (uint32_t id = 0; id < constants.size(); id++) {
      constants[id].first = id;
      std::memcpy(&constants[id].second, reinterpret_cast<const uint32_t*>(&pipeline.constants) + id,
                  sizeof(uint32_t));
    }
    SetConstants(constants);
    soft::Dispatch dispatch{};
    dispatch.kernel = pipeline.name.c_str();
    dispatch.groups = {command.groups.x, command.groups.y, command.groups.z};
    dispatch.threads = command.threads;
    dispatch.threadgroup_bytes = command.threadgroup_bytes;
    pipeline.kernel->Prepare(bindings, dispatch);
    device_.worker().Run(dispatch);
    device_.dispatches++;
  }

  SoftDevice& device_;
  DispatchCommand state_;
  std::vector<std::variant<BarrierCommand, DispatchCommand>> commands_;
  std::string failure_;
};

}  // namespace

uint32_t SoftDevice::busy_simdgroups() const {
  const char* given = std::getenv("ANLLM_SOFT_SIMDGROUPS");
  return given == nullptr ? Device::busy_simdgroups() : static_cast<uint32_t>(std::stoul(given));
}

std::unique_ptr<metal::Buffer> SoftDevice::NewBuffer(size_t bytes) {
  return std::make_unique<SoftBuffer>(bytes);
}

std::unique_ptr<metal::Buffer> SoftDevice::WrapMemory(void* pages, size_t bytes) {
  return std::make_unique<SoftBuffer>(pages, bytes);
}

std::unique_ptr<metal::Pipeline> SoftDevice::NewPipeline(const std::string& kernel,
                                                         const metal::Constants& constants) {
  auto pipeline = std::make_unique<SoftPipeline>();
  pipeline->name = kernel;
  pipeline->kernel = FindKernel(kernel);
  pipeline->constants = constants;
  if (pipeline->kernel == nullptr) throw Unsupported("[metal] no kernel is called " + kernel);
  LogPipeline(kernel, constants);
  return pipeline;
}

std::unique_ptr<metal::CommandBuffer> SoftDevice::NewCommandBuffer() {
  return std::make_unique<SoftCommandBuffer>(*this);
}

}  // namespace anllm::soft
