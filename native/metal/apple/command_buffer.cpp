#include "command_buffer.h"

#include "../../error.h"

namespace anllm::metal::apple {

std::string TextOf(Id string) {
  const char* text = string == nullptr ? nullptr : send::Utf8OfString(string);
  return text == nullptr ? "" : text;
}

std::string ReasonOf(Id error) {
  return error == nullptr ? "no reason given" : TextOf(send::LocalizedDescription(error));
}

MetalCommandBuffer::MetalCommandBuffer(Id queue) {
  const AutoreleasePool pool;
  commands_ = Reference::Retain(send::NextCommandBuffer(queue));
  if (commands_) encoder_ = Reference::Retain(send::ComputeEncoder(commands_.get(), kDispatchConcurrent));
  if (!encoder_) throw Error("internal", "[metal] the queue gives no command buffer");
}

MetalCommandBuffer::~MetalCommandBuffer() {
  // Metal insists on the end of an encoder before it goes.
  EndEncoding();
}

void MetalCommandBuffer::EndEncoding() {
  if (encoder_) send::EndEncoding(encoder_.get());
  encoder_ = Reference();
}

void MetalCommandBuffer::SetPipeline(const Pipeline& pipeline) {
  send::SetPipeline(encoder_.get(), static_cast<const MetalPipeline&>(pipeline).get());
}

void MetalCommandBuffer::SetBuffer(uint32_t index, const BufferView& view) {
  send::SetBuffer(encoder_.get(), static_cast<const MetalBuffer*>(view.buffer)->get(), view.offset, index);
}

void MetalCommandBuffer::SetBytes(uint32_t index, const void* bytes, size_t size) {
  send::SetBytes(encoder_.get(), {bytes}, size, index);
}

void MetalCommandBuffer::SetThreadgroupMemory(uint32_t bytes) {
  // Lengths are multiples of 16.
  send::SetThreadgroupMemory(encoder_.get(), (bytes + 15) / 16 * 16, 0);
  has_threadgroup_memory_ = true;
}

void MetalCommandBuffer::Dispatch(Extent groups, uint32_t threads) {
  send::DispatchThreadgroups(encoder_.get(), {groups.x, groups.y, groups.z}, {threads, 1, 1});
  // It would stay, and count against the arrays of the next kernel.
  if (has_threadgroup_memory_) send::SetThreadgroupMemory(encoder_.get(), 0, 0);
  has_threadgroup_memory_ = false;
}

void MetalCommandBuffer::Barrier() {
  send::MemoryBarrier(encoder_.get(), kBarrierBuffers);
}

void MetalCommandBuffer::Commit() {
  EndEncoding();
  send::Commit(commands_.get());
}

void MetalCommandBuffer::WaitUntilCompleted() {
  const AutoreleasePool pool;
  send::WaitUntilCompleted(commands_.get());
  if (send::Status(commands_.get()) == kStatusCompleted) return;
  throw GpuStopped("[metal] the GPU stopped: " + ReasonOf(send::ErrorOf(commands_.get())));
}

}  // namespace anllm::metal::apple
