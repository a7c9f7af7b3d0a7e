/**
 * What the encoder needs of a GPU: buffers, pipelines, dispatches, barriers. Metal's runtime is one
 * implementation, the soft device of the tests another; the encoder does not know which one it drives.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../metal/constants.h"
#include "../error.h"

namespace anllm::metal {

/** A command buffer that the GPU did not finish. What it would have written is void; memory stays. */
class GpuStopped : public Error {
 public:
  explicit GpuStopped(const std::string& message) : Error("internal", message) {}
};

struct Extent {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

/** Memory that the CPU and the GPU share. The CPU writes it only while no command buffer that uses it runs.
 */
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint8_t* contents() const = 0;
  virtual size_t size() const = 0;
};

/** What one binding shows of a buffer. Offsets are multiples of 16; a kernel stays within `size`. */
struct BufferView {
  Buffer* buffer = nullptr;
  size_t offset = 0;
  size_t size = 0;
};

/** A kernel with its function constants. */
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  /** Of a threadgroup: fewer than the kernel declares where its registers do not last. */
  virtual uint32_t max_threads() const { return 1024; }
};

/** Commands in the order in which they are given. Dispatches may overlap unless a barrier stands between
 * them. */
class CommandBuffer {
 public:
  virtual ~CommandBuffer() = default;
  virtual void SetPipeline(const Pipeline& pipeline) = 0;
  virtual void SetBuffer(uint32_t index, const BufferView& view) = 0;
  /** At most 4 KiB, copied. */
  virtual void SetBytes(uint32_t index, const void* bytes, size_t size) = 0;
  /** Length of the threadgroup buffer 0 of the dispatches that follow. */
  virtual void SetThreadgroupMemory(uint32_t bytes) = 0;
  /** `threads` of a threadgroup: a multiple of 32, at most 1024. */
  virtual void Dispatch(Extent groups, uint32_t threads) = 0;
  /** All that was dispatched so far is finished before anything that follows begins. */
  virtual void Barrier() = 0;
  virtual void Commit() = 0;
  /** Throws GpuStopped when a kernel failed. */
  virtual void WaitUntilCompleted() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /** For people. */
  virtual std::string name() const = 0;
  /** Simdgroups that keep all cores busy; the default is that of the largest GPU of the family, 16 on each
   * of 40. */
  virtual uint32_t busy_simdgroups() const { return 640; }
  /** Bytes of all buffers together with which the GPU works well; the default is no limit. */
  virtual size_t working_bytes() const { return SIZE_MAX; }
  /** Does `work`; what the system lends on the way is given back at the end of it. */
  virtual void InScope(const std::function<void()>& work) { work(); }
  /** Zeroed memory. Throws Error unavailable. */
  virtual std::unique_ptr<Buffer> NewBuffer(size_t bytes) = 0;
  /** Memory of the caller, without a copy; page-aligned, and alive as long as the buffer. */
  virtual std::unique_ptr<Buffer> WrapMemory(void* pages, size_t bytes) = 0;
  /** Throws Error unsupported when the kernel does not exist or cannot be made. */
  virtual std::unique_ptr<Pipeline> NewPipeline(const std::string& kernel, const Constants& constants) = 0;
  virtual std::unique_ptr<CommandBuffer> NewCommandBuffer() = 0;
  /**
   * After a GpuStopped, when no command buffer runs: all but memory is made anew, and pipelines of before are
   * void. Throws Error unavailable when the GPU does not come back.
   */
  virtual void Restart() = 0;
  /**
   * Keeps memory where the GPU reads it at once, also after a pause, until `EndResidency`; the buffers live
   * as long. Without effect where the system has no such thing.
   */
  virtual void KeepResident(const std::vector<const Buffer*>&) {}
  virtual void EndResidency() {}
  /** Keeps the pipelines that were made for later runs, where the device was told a place for them. */
  virtual void SavePipelines() {}
};

}  // namespace anllm::metal
