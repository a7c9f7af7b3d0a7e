/** Elementary functions of 16 lanes, to a few units in the last place of a float. */
#pragma once

#include "simd.h"

namespace anllm::ANLLM_ISA {

/** e^x = 2^n e^r with |r| <= ln(2) / 2 and e^r by its Taylor series, which ends below 1e-8 there. */
ANLLM_INLINE F32 Exp(F32 x) {
  // Beyond these a float overflows, or is no longer normal; NaN passes through.
  x = Max(Set(-87.0f), Min(Set(88.3f), x));
  const F32 n = ToFloat(ToInt(x * Set(1.44269504f)));
  // ln(2) in two parts, the first exact in few bits so that n times it is exact.
  const F32 r = MulAdd(n, Set(-1.42860677e-6f), MulAdd(n, Set(-0.693145752f), x));
  F32 sum = Set(1.0f / 5040);
  sum = MulAdd(sum, r, Set(1.0f / 720));
  sum = MulAdd(sum, r, Set(1.0f / 120));
  sum = MulAdd(sum, r, Set(1.0f / 24));
  sum = MulAdd(sum, r, Set(1.0f / 6));
  sum = MulAdd(sum, r, Set(0.5f));
  sum = MulAdd(sum, r, Set(1.0f));
  sum = MulAdd(sum, r, Set(1.0f));
  return sum * PowerOfTwo(ToInt(n));
}

/** (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; near zero, where that cancels, the Taylor series. */
ANLLM_INLINE F32 Tanh(F32 x) {
  const F32 magnitude = Abs(x);
  const F32 e = Exp(Set(-2.0f) * magnitude);
  const F32 ratio = (Set(1.0f) - e) / (Set(1.0f) + e);
  const F32 far = SelectLess(x, Zero(), Zero() - ratio, ratio);
  const F32 square = x * x;
  F32 sum = Set(62.0f / 2835);
  sum = MulAdd(sum, square, Set(-17.0f / 315));
  sum = MulAdd(sum, square, Set(2.0f / 15));
  sum = MulAdd(sum, square, Set(-1.0f / 3));
  const F32 near = MulAdd(x * square, sum, x);
  return SelectLess(magnitude, Set(0.25f), near, far);
}

/**
 * The normal distribution function Φ(x) = erfc(-x / √2) / 2. For z >= 0, erfc(z) = t e^(P(t) - z²) with t = 1
 * / (1 + z / 2); P is the degree 7 Chebyshev interpolation of that on z in [0, 10.4], with a relative error
 * of 1e-6.
 */
ANLLM_INLINE F32 NormalCdf(F32 x) {
  const F32 z = Abs(x) * Set(0.707106781f);
  const F32 t = Set(1.0f) / MulAdd(z, Set(0.5f), Set(1.0f));
  F32 p = Set(-0.18925032f);
  p = MulAdd(p, t, Set(0.75754672f));
  p = MulAdd(p, t, Set(-1.01101077f));
  p = MulAdd(p, t, Set(0.35858983f));
  p = MulAdd(p, t, Set(-0.04395458f));
  p = MulAdd(p, t, Set(0.39512232f));
  p = MulAdd(p, t, Set(0.99842405f));
  p = MulAdd(p, t, Set(-1.265468f));
  const F32 tail = Set(0.5f) * t * Exp(p - z * z);
  return SelectLess(x, Zero(), tail, Set(1.0f) - tail);
}

}  // namespace anllm::ANLLM_ISA
