/** How much of its state a value head of a Gated DeltaNet keeps and writes at a row, and the unit norm of
 * keys. */
#pragma once

#include "activate.h"
#include "params.h"
#include "values.h"

inline uint key_head_of(uint value_head, constant GatedDeltaParams& p) {
  return p.tiled != 0 ? value_head % p.key_heads : value_head * p.key_heads / p.value_heads;
}
/** The value head that is number `index` of those which read a key head. */
inline uint value_head_of(uint key_head, uint index, constant GatedDeltaParams& p) {
  return p.tiled != 0 ? index * p.key_heads + key_head : key_head * (p.value_heads / p.key_heads) + index;
}

inline float rate_of(DEVICE(const float) decay, uint head) {
  return -exp(float(decay[head]));
}

/** alpha of the paper: the factor of the state of before, in [0, 1]. `rate`: of the head. */
inline float kept_at(DEVICE(const uchar) x, uint row, uint head, float rate, float time_bias,
                     constant GatedDeltaParams& p) {
  const float a = load_value(x, kXType, row * p.x_stride + p.channels + p.value_heads + head) + time_bias;
  return exp(rate * (a > 20.0f ? a : log(1.0f + exp(a))));
}

/** beta of the paper: how far the value that the key recalls moves to the new one, in [0, 1]. */
inline float written_at(DEVICE(const uchar) x, uint row, uint head, constant GatedDeltaParams& p) {
  return sigmoid(load_value(x, kXType, row * p.x_stride + p.channels + head));
}

/** Scales a vector with this sum of squares to length 1 / sqrt(divisor). */
inline float unit_factor(float squares, float divisor) {
  return rsqrt((squares + 1e-6f) * divisor);
}
