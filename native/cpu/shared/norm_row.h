/** RMS norm (Zhang and Sennrich 2019) and layer norm (Ba et al. 2016) of one group of a row. */
#pragma once

#include "parallel.h"

namespace anllm::ANLLM_ISA {

/** Correctly rounded square root, whatever the instruction set. */
ANLLM_INLINE float SquareRoot(float x) {
  return __builtin_sqrtf(x);
}

/**
 * out[0, n) = norm of x[0, n), where x is group `group` of its row; out may be x. Sums run over two vectors
 * in turn, so that an addition need not wait for the one before.
 */
ANLLM_INLINE void NormalizeGroup(const Norm& norm, const float* x, int64_t n, int64_t group, float* out) {
  const int64_t shift = norm.weight_size == n ? 0 : group * n;
  F32 mean = Zero();
  if (norm.subtract_mean) {
    F32 sum = Zero();
    ForVectors(n, [&](int64_t i, int lanes) { sum = sum + LoadLanes(x + i, lanes); });
    mean = Set(Sum(sum) / static_cast<float>(n));
  }
  F32 squares[2] = {Zero(), Zero()};
  ForVectors(n, [&](int64_t i, int lanes) {
    F32 centred = LoadLanes(x + i, lanes) - mean;
    if (lanes < 16) centred = KeepRange(centred, 0, lanes, 0.0f);
    F32& target = squares[(i / 16) & 1];
    target = MulAdd(centred, centred, target);
  });
  const float variance = Sum(squares[0] + squares[1]) / static_cast<float>(n);
  const F32 inverse = Set(1.0f / SquareRoot(variance + norm.eps));
  ForVectors(n, [&](int64_t i, int lanes) {
    F32 y = (LoadLanes(x + i, lanes) - mean) * inverse;
    if (norm.weight != nullptr) y = y * (LoadLanes(norm.weight + shift + i, lanes) + Set(norm.offset));
    if (norm.bias != nullptr) y = y + LoadLanes(norm.bias + shift + i, lanes);
    StoreLanes(out + i, y, lanes);
  });
}

}  // namespace anllm::ANLLM_ISA
