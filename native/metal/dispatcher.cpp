#include "dispatcher.h"

#include <cstring>

namespace anllm::metal {

bool Dispatcher::KeyOrder::operator()(const std::pair<std::string, Constants>& a,
                                      const std::pair<std::string, Constants>& b) const {
  if (a.first != b.first) return a.first < b.first;
  return std::memcmp(&a.second, &b.second, sizeof(Constants)) < 0;
}

const Pipeline& Dispatcher::PipelineOf(const char* kernel, const Constants& constants) {
  auto& pipeline = pipelines_[{kernel, constants}];
  if (pipeline == nullptr) pipeline = device_.NewPipeline(kernel, constants);
  return *pipeline;
}

void Dispatcher::Run(const Launch& launch, std::initializer_list<BufferView> buffers, const void* params,
                     size_t size) {
  const Pipeline& pipeline = PipelineOf(launch.kernel, launch.constants);
  if (launch.threads > pipeline.max_threads()) {
    throw Unsupported("[metal] " + std::string(launch.kernel) + ": got " + std::to_string(launch.threads) +
                      " threads, this GPU takes " + std::to_string(pipeline.max_threads()));
  }
  commands_->SetPipeline(pipeline);
  uint32_t index = 0;
  for (const BufferView& view : buffers) {
    commands_->SetBuffer(index++, view.buffer == nullptr ? *buffers.begin() : view);
  }
  commands_->SetBytes(index, params, size);
  if (launch.threadgroup_bytes > 0) commands_->SetThreadgroupMemory(launch.threadgroup_bytes);
  commands_->Dispatch(launch.groups, launch.threads);
}

}  // namespace anllm::metal
