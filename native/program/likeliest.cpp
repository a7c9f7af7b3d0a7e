#include "likeliest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anllm::program {
namespace {

float Largest(const float* values, int64_t count) {
  constexpr int kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; k++) lanes[k] = values[i + k] > lanes[k] ? values[i + k] : lanes[k];
  }
  for (; i < count; i++) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace

void Likeliest(const float* logits, int64_t rows, int64_t stride, int64_t columns, int32_t* ids) {
  for (int64_t row = 0; row < rows; row++, logits += stride) {
    const float largest = Largest(logits, columns);
    const float* place = std::find(logits, logits + columns, largest);
    ids[row] = std::isfinite(largest) ? static_cast<int32_t>(place - logits) : -1;
  }
}

}  // namespace anllm::program
