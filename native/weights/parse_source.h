/** From the JavaScript form of a weight to the C++ form. */
#pragma once

#include <napi.h>

#include "source.h"

namespace anllm::weights {

WeightSource ParseSource(const Napi::Value& value, const std::string& place);

}  // namespace anllm::weights
