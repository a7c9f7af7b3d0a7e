/** Makes the soft device the GPU of what it is linked into. */
#include "../../../native/metal/create_device.h"
#include "soft_device.h"

namespace anllm::metal {

std::unique_ptr<Device> CreateDevice(const std::string&) {
  return std::make_unique<soft::SoftDevice>();
}

}  // namespace anllm::metal
