/**
 * RMS norm (Zhang and Sennrich 2019) or layer norm (Ba et al. 2016) of each group of columns:
 * out = ((x - mean) / deviation * (weight + offset) + bias) * activation(gate) + residual, the mean being 0
 * for RMS. Grid: groups, rows; kSimdgroups.
 */
#include "activate.h"
#include "params.h"
#include "reduce.h"
#include "values.h"

KERNEL(norm, 1024)
(BUFFER(const uchar, x, 0), BUFFER(const float, weight, 1), BUFFER(const float, bias, 2),
 BUFFER(const uchar, gate, 3), BUFFER(const float, residual, 4), BUFFER(uchar, out, 5),
 PARAMS(NormParams, p, 6), GRID) {
  THREADGROUP_ARRAY(float, scratch, 32);
  const uint threads = kSimdgroups * 32;
  const uint column = group.x * p.size;
  const uint first = group.y * p.x_stride + p.x_column + column;
  const uint first_gate = group.y * p.gate_stride + p.gate_column + column;
  const uint first_out = group.y * p.groups * p.size + column;
  float mean = 0.0f;
  if (kNorm == NORM_LAYER) {
    for (uint i = thread_index; i < p.size; i += threads) mean += load_value(x, kXType, first + i);
    mean = group_sum(mean, scratch, lane, simd_index, kSimdgroups) / float(p.size);
  }
  float squares = 0.0f;
  for (uint i = thread_index; i < p.size; i += threads) {
    const float centred = load_value(x, kXType, first + i) - mean;
    squares += centred * centred;
  }
  squares = group_sum(squares, scratch, lane, simd_index, kSimdgroups);
  const float inverse = rsqrt(squares / float(p.size) + p.eps);
  const uint shift = p.weight_size == p.size ? 0 : column;
  for (uint i = thread_index; i < p.size; i += threads) {
    float value = (load_value(x, kXType, first + i) - mean) * inverse;
    if (kHasNormWeight) value *= weight[shift + i] + p.offset;
    if (kHasNormBias) value += bias[shift + i];
    if (kHasGate) value *= activate(load_value(gate, kGateType, first_gate + i));
    if (kHasResidual) value += residual[first_out + i];
    store_value(out, kOutType, first_out + i, value);
  }
}
