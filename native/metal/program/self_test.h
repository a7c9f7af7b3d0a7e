/** Whether a device computes what the kernels mean: found at start, before an answer is wrong. */
#pragma once

#include <string>
#include <vector>

#include "../device.h"

namespace anllm::metal {

/** What is wrong where a part of the self-test fails. */
enum class SelfTestScope : uint8_t {
  kAll,
  /** Only the drawing of tokens: logits are right. */
  kDrawing,
  /** Only keys and values of 8 bits. */
  kKv8
};

struct SelfTestResult {
  std::string name;
  /** Largest difference from the expected values, relative to the largest of these; or what failed. */
  double error = 0;
  std::string failure;
  SelfTestScope scope = SelfTestScope::kAll;

  bool is_good() const;
};

/**
 * Small runs of what depends most on a GPU: each form of matrix product, where a lane's elements of a matrix
 * lie, sums over simdgroups and threadgroups, each form of attention and of the recurrence, drawing. Needs a
 * few pipelines.
 */
std::vector<SelfTestResult> SelfTest(Device& device);

}  // namespace anllm::metal
