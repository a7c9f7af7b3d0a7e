/** Activation functions. */
#pragma once

#include "constants.h"
#include "msl.h"

/** tanh that cannot overflow inside: beyond 15 the result is 1 to the last bit of a float. */
inline float bounded_tanh(float x) {
  return tanh(clamp(x, -15.0f, 15.0f));
}

/** softcap * tanh(x / softcap) */
inline float soft_cap(float x, float softcap) {
  return softcap * bounded_tanh(x / softcap);
}

inline float sigmoid(float x) {
  return 1.0f / (1.0f + fast::exp(-x));
}

/** The error function within 1.5e-7: Abramowitz and Stegun 7.1.26. */
inline float error_function(float x) {
  const float z = fabs(x);
  const float t = 1.0f / (1.0f + 0.3275911f * z);
  const float series =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float magnitude = 1.0f - series * fast::exp(-z * z);
  return x < 0.0f ? -magnitude : magnitude;
}

inline float activate(float x) {
  switch (kActivation) {
    case ACTIVATION_SILU:
      return x * sigmoid(x);
    case ACTIVATION_GELU:
      return 0.5f * x * (1.0f + error_function(x * 0.70710678f));
    case ACTIVATION_GELU_TANH:
      return 0.5f * x * (1.0f + bounded_tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case ACTIVATION_RELU:
      return max(x, 0.0f);
    case ACTIVATION_SIGMOID:
      return sigmoid(x);
    default:
      return x;
  }
}

/** What a gate makes of an up: activation(gate) * up, or the bounded form of gpt-oss
 * (https://arxiv.org/abs/2508.10925). */
inline float gated(float gate, float up) {
  if (kActivation != ACTIVATION_SWIGLU_OAI) return activate(gate) * up;
  const float bounded = min(gate, 7.0f);
  return bounded * sigmoid(1.702f * bounded) * (clamp(up, -7.0f, 7.0f) + 1.0f);
}
