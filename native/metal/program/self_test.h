/** Whether a device computes what the kernels mean: found at start, before an answer is wrong. */
#pragma once

#include <string>
#include <vector>

#include "../device.h"

namespace anllm::metal {

struct SelfTestResult {
  std::string name;
  /** Largest difference from the expected values, relative to the largest of these; or what failed. */
  double error = 0;
  std::string failure;
  /** Of what only draws tokens; logits are right without it. */
  bool is_drawing = false;

  bool is_good() const;
};

/**
 * Small runs of what depends most on a GPU: each form of matrix product, where a lane's elements of a matrix
 * lie, sums over simdgroups and threadgroups, both forms of attention and of the recurrence, drawing. Needs a
 * few pipelines.
 */
std::vector<SelfTestResult> SelfTest(Device& device);

}  // namespace anllm::metal
