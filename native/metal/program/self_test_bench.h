/** What the parts of the self-test share. */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "../../weights/half.h"
#include "../ops.h"

namespace anllm::metal {

/** Memory of one test, and numbers that are always the same. */
class Bench {
 public:
  explicit Bench(Device& device) : device_(device), dispatcher_(device) {}

  BufferView Allocate(size_t bytes) {
    buffers_.push_back(device_.NewBuffer(bytes));
    return {buffers_.back().get(), 0, bytes};
  }
  template <class T>
  BufferView Place(const std::vector<T>& values) {
    const BufferView view = Allocate(values.size() * sizeof(T));
    std::memcpy(view.buffer->contents(), values.data(), view.size);
    return view;
  }
  /** Multiples of 1/64 in [-1, 1), which binary16 holds exactly. */
  std::vector<float> Numbers(size_t count) {
    std::vector<float> numbers(count);
    for (float& number : numbers) {
      state_ = state_ * 1664525u + 1013904223u;
      number = static_cast<float>(state_ >> 25) / 64.0f - 1.0f;
    }
    return numbers;
  }
  Values Halves(const std::vector<float>& numbers) {
    std::vector<uint16_t> halves;
    for (const float number : numbers) halves.push_back(weights::NarrowHalf(number));
    return {Place(halves), DTYPE_F16};
  }
  void Run(const std::function<void(Dispatcher&)>& encode) {
    device_.InScope([&] {
      const auto commands = device_.NewCommandBuffer();
      dispatcher_.Begin(*commands);
      encode(dispatcher_);
      commands->Commit();
      commands->WaitUntilCompleted();
    });
  }

 private:
  Device& device_;
  Dispatcher dispatcher_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  uint32_t state_ = 1;
};

inline const float* FloatsOf(const BufferView& view) {
  return reinterpret_cast<const float*>(view.buffer->contents());
}

/** Largest difference, relative to the largest expected value. */
inline double ErrorOf(const BufferView& got, const std::vector<double>& expected) {
  double difference = 0;
  double largest = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    const double d = std::abs(static_cast<double>(FloatsOf(got)[i]) - expected[i]);
    difference = std::isnan(d) ? INFINITY : std::max(difference, d);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return difference / largest;
}

}  // namespace anllm::metal
