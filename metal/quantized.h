/**
 * The affine coding of MLX, to which GGUF's blocks are brought too: each row is one little-endian stream of
 * kBits-bit numbers q, least significant bit first; each kGroupSize of them share a scale and a bias: w = q *
 * scale + bias. Rows are whole runs of 32 numbers, so whole words.
 */
#pragma once

#include "values.h"

/** Number at `bit` of a row. */
inline uint packed_value(DEVICE(const uint) row, uint bit) {
  const uint word = bit / 32;
  const uint shift = bit % 32;
  uint value = row[word] >> shift;
  if (shift + kBits > 32) value |= row[word + 1] << (32 - shift);
  return value & ((1u << kBits) - 1);
}

/** w[row, column] of a weight of any format; `scales` and `biases` are read for DTYPE_AFFINE only. */
inline float weight_value(DEVICE(const uchar) weight, DEVICE(const uchar) scales, DEVICE(const uchar) biases,
                          uint row, uint column, uint columns) {
  if (kWeightType != DTYPE_AFFINE) {
    const ulong bytes = kWeightType == DTYPE_F32 ? 4 : 2;
    return load_value(weight + ulong(row) * columns * bytes, kWeightType, column);
  }
  DEVICE(const uint) words = AS_DEVICE(const uint, weight) + ulong(row) * (columns * kBits / 32);
  const uint group = row * (columns / kGroupSize) + column / kGroupSize;
  return float(packed_value(words, column * kBits)) * load_value(scales, kScaleType, group) +
         load_value(biases, kScaleType, group);
}
