/** For systems without Metal. */
#include "create_device.h"

namespace anllm::metal {

std::unique_ptr<Device> CreateDevice(const std::string&) {
  return nullptr;
}

}  // namespace anllm::metal
