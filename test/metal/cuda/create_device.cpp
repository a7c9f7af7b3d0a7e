/** Makes an NVIDIA GPU the device of what it is linked into. */
#include "../../../native/metal/create_device.h"
#include "cuda_device.h"

namespace anllm::metal {

std::unique_ptr<Device> CreateDevice(const std::string&) {
  return std::make_unique<cuda::CudaDevice>();
}

}  // namespace anllm::metal
