/** The activation functions of program.ts. */
#pragma once

#include "../../simd/math.h"
#include "parallel.h"

namespace anllm::ANLLM_ISA {

ANLLM_INLINE F32 ActivationOf(Activation activation, F32 x) {
  switch (activation) {
    case Activation::kIdentity:
    case Activation::kSwigluOai:  // a function of two values
      return x;
    case Activation::kSigmoid:
      return Set(1.0f) / (Set(1.0f) + Exp(Zero() - x));
    case Activation::kSilu:
      return x / (Set(1.0f) + Exp(Zero() - x));
    case Activation::kGelu:
      return x * NormalCdf(x);
    case Activation::kGeluTanh: {
      const F32 inner = Set(0.797884561f) * MulAdd(Set(0.044715f) * x * x, x, x);
      // x * (1 + tanh(u)) / 2 = x / (1 + e^-2u), which does not cancel for negative u.
      return x / (Set(1.0f) + Exp(Set(-2.0f) * inner));
    }
    case Activation::kRelu:
      return Max(x, Zero());
  }
  return x;
}

/** activation(gate) * up, or gpt-oss's function of both. */
ANLLM_INLINE F32 GatedActivation(Activation activation, F32 gate, F32 up) {
  if (activation != Activation::kSwigluOai) return ActivationOf(activation, gate) * up;
  const F32 g = Min(gate, Set(7.0f));
  const F32 u = Max(Min(up, Set(7.0f)), Set(-7.0f));
  return g / (Set(1.0f) + Exp(Set(-1.702f) * g)) * (u + Set(1.0f));
}

/** softcap * tanh(x / softcap); softcap 0: x. */
ANLLM_INLINE F32 Softcap(F32 x, float softcap) {
  return softcap == 0.0f ? x : Set(softcap) * Tanh(x / Set(softcap));
}

}  // namespace anllm::ANLLM_ISA
