/**
 * Softmax in parts (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"): each chunk of
 * keys gives a maximum, a sum and a weighted sum of values; parts are merged in the order of the keys, so a
 * row's result does not depend on which thread or step computed which part.
 */
#pragma once

#include "../../kernels/scratch.h"
#include "../../simd/math.h"
#include "../shared/parallel.h"

namespace anllm::ANLLM_ISA {

/** The maximum of a part without keys; finite, so that differences of maxima are. */
constexpr float kNoScore = -1e30f;

/** One row's part: values [value_stride], then maximum and sum. */
struct Partial {
  float* values;
  float* max;
  float* sum;
};

ANLLM_INLINE Partial PartialAt(float* base, int64_t row, int64_t value_stride) {
  float* values = base + row * PartialFloats(value_stride);
  return {values, values + value_stride, values + value_stride + 1};
}

/** e^x of one number, the same as a lane of Exp. */
ANLLM_INLINE float ExpOf(float x) {
  float lanes[16];
  Store(lanes, Exp(Set(x)));
  return lanes[0];
}

/** into = into followed by next. */
ANLLM_INLINE void MergePartial(Partial into, Partial next, int64_t value_stride) {
  const float max = *into.max > *next.max ? *into.max : *next.max;
  const F32 a = Set(ExpOf(*into.max - max));
  const F32 b = Set(ExpOf(*next.max - max));
  for (int64_t i = 0; i < value_stride; i += 16) {
    Store(into.values + i, MulAdd(Load(next.values + i), b, Load(into.values + i) * a));
  }
  float lanes[16];
  Store(lanes, MulAdd(Set(*next.sum), b, Set(*into.sum) * a));
  *into.sum = lanes[0];
  *into.max = max;
}

/** out = values / sum, where a sink adds e^sink to the sum. */
ANLLM_INLINE void FinishPartial(Partial part, int64_t value_dim, const float* sink, float* out) {
  float scale = 1.0f / *part.sum;
  if (sink != nullptr) {
    const float max = *part.max > *sink ? *part.max : *sink;
    const float own = ExpOf(*part.max - max);
    scale = own / (*part.sum * own + ExpOf(*sink - max));
  }
  ForVectors(value_dim,
             [&](int64_t i, int lanes) { StoreLanes(out + i, Load(part.values + i) * Set(scale), lanes); });
}

}  // namespace anllm::ANLLM_ISA
