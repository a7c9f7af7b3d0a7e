/** The GPU of this machine; a build has one of several implementations. */
#pragma once

#include <memory>

#include "device.h"

namespace anllm::metal {

/**
 * Null when this build or this machine has none. `pipeline_folder`: where compiled pipelines are kept; empty:
 * nowhere. Throws Error unavailable when there is one that fails.
 */
std::unique_ptr<Device> CreateDevice(const std::string& pipeline_folder = "");

}  // namespace anllm::metal
