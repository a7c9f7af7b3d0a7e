#include "cuda_device.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "../../../native/error.h"

namespace anllm::cuda {

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorString(result, &name);
  throw Error("internal", std::string("[cuda] ") + what + ": " + (name == nullptr ? "unknown error" : name));
}

CudaBuffer::CudaBuffer(size_t bytes) : size_(bytes) {
  Check(cuMemHostAlloc(reinterpret_cast<void**>(&twin_), bytes, 0), "memory of the CPU");
  Check(cuMemAlloc(&address_, bytes), "memory of the GPU");
  std::memset(twin_, 0, bytes);
  Check(cuMemsetD8(address_, 0, bytes), "clearing memory");
}

CudaBuffer::~CudaBuffer() {
  cuMemFree(address_);
  cuMemFreeHost(twin_);
}

void CudaBuffer::Upload() const {
  Check(cuMemcpyHtoD(address_, twin_, size_), "copy to the GPU");
}

void CudaBuffer::Download() const {
  Check(cuMemcpyDtoH(twin_, address_, size_), "copy from the GPU");
}

namespace {

struct CudaPipeline : metal::Pipeline {
  ~CudaPipeline() override { cuModuleUnload(module); }
  std::string name;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

constexpr uint32_t kMaxBindings = 24;

/**
 * Launches in one stream, where a barrier has nothing left to do. In a graph, what no barrier parts goes to
 * streams side by side.
 */
class CudaCommands : public metal::CommandBuffer {
 public:
  explicit CudaCommands(CudaDevice& device, CUcontext context) : device_(device) {
    Check(cuCtxSetCurrent(context), "context");
    Check(cuEventCreate(&begin_, CU_EVENT_DEFAULT), "event");
    Check(cuEventCreate(&end_, CU_EVENT_DEFAULT), "event");
    Check(cuEventCreate(&fork_, CU_EVENT_DISABLE_TIMING), "event");
  }
  ~CudaCommands() override {
    cuEventDestroy(begin_);
    cuEventDestroy(end_);
    cuEventDestroy(fork_);
  }

  void SetPipeline(const metal::Pipeline& pipeline) override {
    state_.pipeline = &static_cast<const CudaPipeline&>(pipeline);
  }
  void SetBuffer(uint32_t index, const metal::BufferView& view) override {
    const auto* buffer = static_cast<const CudaBuffer*>(view.buffer);
    state_.addresses[index] = buffer->address() + view.offset;
    buffers_.insert(buffer);
    state_.count = std::max(state_.count, index + 1);
  }
  void SetBytes(uint32_t index, const void* bytes, size_t size) override {
    const auto* begin = static_cast<const uint8_t*>(bytes);
    state_.bytes[index].assign(begin, begin + size);
    state_.count = std::max(state_.count, index + 1);
  }
  void SetThreadgroupMemory(uint32_t bytes) override { state_.shared_bytes = bytes; }
  void Dispatch(metal::Extent groups, uint32_t threads) override {
    state_.groups = groups;
    state_.threads = threads;
    launches_.push_back(state_);
    state_ = {};
  }
  void Barrier() override { state_.follows_barrier = true; }

  void Commit() override {
    if (device_.copies_twins) {
      for (const CudaBuffer* buffer : buffers_) buffer->Upload();
    }
    if (device_.uses_graphs) return CommitGraph();
    Check(cuEventRecord(begin_, device_.stream()), "event");
    for (const Launch& launch : launches_) Run(launch, device_.stream());
    Check(cuEventRecord(end_, device_.stream()), "event");
  }
  void WaitUntilCompleted() override {
    Check(cuEventSynchronize(end_), "kernel");
    Check(cuEventElapsedTime(&device_.milliseconds, begin_, end_), "event");
    if (!device_.copies_twins) return;
    for (const CudaBuffer* buffer : buffers_) buffer->Download();
  }

 private:
  struct Launch {
    const CudaPipeline* pipeline = nullptr;
    CUdeviceptr addresses[kMaxBindings] = {};
    std::vector<uint8_t> bytes[kMaxBindings];
    uint32_t count = 0;
    uint32_t shared_bytes = 0;
    metal::Extent groups;
    uint32_t threads = 0;
    bool follows_barrier = false;
  };

  void CommitGraph() {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    Check(cuStreamBeginCapture(device_.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
    size_t first = 0;
    while (first < launches_.size()) {
      size_t end = first + 1;
      while (end < launches_.size() && !launches_[end].follows_barrier) end++;
      RunTogether(first, end);
      first = end;
    }
    Check(cuStreamEndCapture(device_.stream(), &graph), "capture");
    Check(cuGraphInstantiate(&executable, graph, 0), "graph");
    Check(cuGraphLaunch(executable, device_.stream()), "graph");
    Check(cuEventRecord(begin_, device_.stream()), "event");
    Check(cuGraphLaunch(executable, device_.stream()), "graph");
    Check(cuEventRecord(end_, device_.stream()), "event");
    Check(cuEventSynchronize(end_), "graph");
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
  }

  /** Launches first … end - 1 in as many streams as there are, between what is before and what is after. */
  void RunTogether(size_t first, size_t end) {
    const auto& sides = device_.side_streams();
    const size_t used = std::min(sides.size(), end - first - 1);
    if (used > 0) Check(cuEventRecord(fork_, device_.stream()), "event");
    for (size_t i = 0; i < used; i++) Check(cuStreamWaitEvent(sides[i].stream, fork_, 0), "fork");
    for (size_t i = first; i < end; i++) {
      const size_t side = (i - first) % (used + 1);
      Run(launches_[i], side == 0 ? device_.stream() : sides[side - 1].stream);
    }
    for (size_t i = 0; i < used; i++) {
      Check(cuEventRecord(sides[i].event, sides[i].stream), "event");
      Check(cuStreamWaitEvent(device_.stream(), sides[i].event, 0), "join");
    }
  }

  void Run(const Launch& launch, CUstream stream) {
    void* arguments[kMaxBindings];
    for (uint32_t i = 0; i < launch.count; i++) {
      arguments[i] = launch.bytes[i].empty()
                         ? const_cast<CUdeviceptr*>(&launch.addresses[i])
                         : static_cast<void*>(const_cast<uint8_t*>(launch.bytes[i].data()));
    }
    Check(cuLaunchKernel(launch.pipeline->function, launch.groups.x, launch.groups.y, launch.groups.z,
                         launch.threads, 1, 1, launch.shared_bytes, stream, arguments, nullptr),
          launch.pipeline->name.c_str());
  }

  CudaDevice& device_;
  Launch state_;
  std::vector<Launch> launches_;
  std::set<const CudaBuffer*> buffers_;
  CUevent begin_ = nullptr;
  CUevent end_ = nullptr;
  CUevent fork_ = nullptr;
};

}  // namespace

CudaDevice::CudaDevice() {
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device_, 0), "device");
  Check(cuDevicePrimaryCtxRetain(&context_, device_), "context");
  Check(cuCtxSetCurrent(context_), "context");
  // In step with the copies of buffers, which go through the default stream.
  Check(cuStreamCreate(&stream_, CU_STREAM_DEFAULT), "stream");
  for (SideStream& side : side_streams_) {
    Check(cuStreamCreate(&side.stream, CU_STREAM_NON_BLOCKING), "stream");
    Check(cuEventCreate(&side.event, CU_EVENT_DISABLE_TIMING), "event");
  }
}

CudaDevice::~CudaDevice() {
  for (const SideStream& side : side_streams_) {
    cuEventDestroy(side.event);
    cuStreamDestroy(side.stream);
  }
  cuStreamDestroy(stream_);
  cuDevicePrimaryCtxRelease(device_);
}

std::string CudaDevice::name() const {
  char name[256] = {};
  cuDeviceGetName(name, sizeof(name) - 1, device_);
  return name;
}

uint32_t CudaDevice::busy_simdgroups() const {
  int processors = 0;
  cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_);
  return 16 * static_cast<uint32_t>(processors);
}

std::unique_ptr<metal::Buffer> CudaDevice::NewBuffer(size_t bytes) {
  Check(cuCtxSetCurrent(context_), "context");
  return std::make_unique<CudaBuffer>(bytes);
}

std::unique_ptr<metal::Buffer> CudaDevice::WrapMemory(void* pages, size_t bytes) {
  auto buffer = NewBuffer(bytes);
  std::memcpy(buffer->contents(), pages, bytes);
  return buffer;
}

std::unique_ptr<metal::Pipeline> CudaDevice::NewPipeline(const std::string& kernel,
                                                         const metal::Constants& constants) {
  Check(cuCtxSetCurrent(context_), "context");
  int major = 0;
  int minor = 0;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_);
  const std::vector<char> image =
      CompiledKernel(kernel, constants, "sm_" + std::to_string(major) + std::to_string(minor));
  auto pipeline = std::make_unique<CudaPipeline>();
  pipeline->name = kernel;
  Check(cuModuleLoadData(&pipeline->module, image.data()), kernel.c_str());
  Check(cuModuleGetFunction(&pipeline->function, pipeline->module, ("kernel_" + kernel).c_str()),
        kernel.c_str());
  return pipeline;
}

std::unique_ptr<metal::CommandBuffer> CudaDevice::NewCommandBuffer() {
  return std::make_unique<CudaCommands>(*this, context_);
}

}  // namespace anllm::cuda
