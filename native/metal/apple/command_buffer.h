/** Objects of Metal behind the interfaces of device.h. */
#pragma once

#include "../device.h"
#include "selectors.h"

namespace anllm::metal::apple {

/** Lent to the current autorelease pool. */
inline Id StringOf(const char* text) {
  return send::StringWithUtf8(TheRuntime().get_class("NSString"), text);
}
std::string TextOf(Id string);
/** What an NSError says; also for none. */
std::string ReasonOf(Id error);

class MetalBuffer : public Buffer {
 public:
  MetalBuffer(Reference buffer, size_t size)
      : buffer_(std::move(buffer)),
        contents_(static_cast<uint8_t*>(const_cast<void*>(send::Contents(buffer_.get()).address))),
        size_(size) {}
  uint8_t* contents() const override { return contents_; }
  size_t size() const override { return size_; }
  Id get() const { return buffer_.get(); }

 private:
  Reference buffer_;
  uint8_t* contents_;
  size_t size_;
};

class MetalPipeline : public Pipeline {
 public:
  explicit MetalPipeline(Reference state)
      : state_(std::move(state)), max_threads_(static_cast<uint32_t>(send::MaxTotalThreads(state_.get()))) {}
  Id get() const { return state_.get(); }
  uint32_t max_threads() const override { return max_threads_; }

 private:
  Reference state_;
  uint32_t max_threads_;
};

/** One concurrent compute encoder; what is not committed is dropped. */
class MetalCommandBuffer : public CommandBuffer {
 public:
  explicit MetalCommandBuffer(Id queue);
  ~MetalCommandBuffer() override;

  void SetPipeline(const Pipeline& pipeline) override;
  void SetBuffer(uint32_t index, const BufferView& view) override;
  void SetBytes(uint32_t index, const void* bytes, size_t size) override;
  void SetThreadgroupMemory(uint32_t bytes) override;
  void Dispatch(Extent groups, uint32_t threads) override;
  void Barrier() override;
  void Commit() override;
  void WaitUntilCompleted() override;

 private:
  void EndEncoding();

  Reference commands_;
  Reference encoder_;
  bool has_threadgroup_memory_ = false;
};

}  // namespace anllm::metal::apple
