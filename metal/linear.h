/** What the kernels of linear share: which rows of the weight make an output, and what happens to a sum. */
#pragma once

#include "activate.h"
#include "params.h"
#include "values.h"

/** Row of the weight of an output's gate (or of the output itself). */
inline uint gate_row(uint output, constant LinearParams& p) {
  return kIsGlu ? output * p.gate_step : output;
}

/**
 * Finishes output `n` of `row` from its sum, for a glu from the sums of gate and up, and writes it. What lies
 * beyond the last row or output is dropped.
 */
inline void store_output(float sum, float up, uint row, uint n, DEVICE(const float) bias,
                         DEVICE(const float) residual, DEVICE(uchar) out, constant LinearParams& p) {
  if (row >= p.rows || n >= p.outputs) return;
  const uint at = gate_row(n, p);
  if (kHasBias) {
    sum += bias[at];
    if (kIsGlu) up += bias[at + p.up_offset];
  }
  float value = kIsGlu ? gated(sum, up) : activate(sum * p.factor);
  const uint index = row * p.out_stride + p.out_column + n;
  if (kHasResidual) value += residual[index];
  store_value(out, kOutType, index, value);
}
