/** An NVIDIA GPU behind the interface of native/metal/device.h, for tests and measurements. */
#pragma once

#include <cuda.h>

#include <array>
#include <map>
#include <vector>

#include "../../../native/metal/device.h"

namespace anllm::cuda {

/** Throws std::runtime_error with CUDA's name for a result that is no success. */
void Check(CUresult result, const char* what);

/** Memory of the device with a twin of the CPU's. */
class CudaBuffer : public metal::Buffer {
 public:
  explicit CudaBuffer(size_t bytes);
  ~CudaBuffer() override;
  uint8_t* contents() const override { return twin_; }
  size_t size() const override { return size_; }
  CUdeviceptr address() const { return address_; }
  void Upload() const;
  void Download() const;

 private:
  size_t size_;
  uint8_t* twin_ = nullptr;
  CUdeviceptr address_ = 0;
};

class CudaDevice : public metal::Device {
 public:
  CudaDevice();
  ~CudaDevice() override;

  std::string name() const override;
  /** 16 a multiprocessor, as on a core of Apple's. */
  uint32_t busy_simdgroups() const override;
  std::unique_ptr<metal::Buffer> NewBuffer(size_t bytes) override;
  std::unique_ptr<metal::Buffer> WrapMemory(void* pages, size_t bytes) override;
  std::unique_ptr<metal::Pipeline> NewPipeline(const std::string& kernel,
                                               const metal::Constants& constants) override;
  std::unique_ptr<metal::CommandBuffer> NewCommandBuffer() override;
  /** CUDA's context does not survive a fault, and a test that meets one has failed. */
  void Restart() override {}

  CUstream stream() const { return stream_; }
  /** For what may overlap, with an event that tells when it is done. */
  struct SideStream {
    CUstream stream = nullptr;
    CUevent event = nullptr;
  };
  const std::array<SideStream, 7>& side_streams() const { return side_streams_; }

  /** Whether a command buffer copies what it binds from and to the twins; else they are copied by hand. */
  bool copies_twins = true;
  /** Whether a command buffer is launched as one graph, after a run that is not timed. */
  bool uses_graphs = false;
  /** Of the last command buffer that completed. */
  float milliseconds = 0;

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::array<SideStream, 7> side_streams_;
};

/** A kernel's text with its constants, compiled for this GPU's architecture. Throws std::runtime_error. */
std::vector<char> CompileKernel(const std::string& kernel, const metal::Constants& constants,
                                const std::string& architecture);
/** The same, kept in the folder that ANLLM_CUBINS names, if it does. */
std::vector<char> CompiledKernel(const std::string& kernel, const metal::Constants& constants,
                                 const std::string& architecture);
/** Names of all kernels. */
std::vector<std::string> KernelNames();

}  // namespace anllm::cuda
