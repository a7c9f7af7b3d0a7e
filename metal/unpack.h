/**
 * Runs of packed numbers (see quantized.h) in registers. A run is 32 numbers: they fill whole words and lie
 * in one group, so that a lane loads words only and needs one scale and one bias.
 *
 * A number becomes a float without a conversion instruction: its bits, left where they are in the word, are
 * put into the mantissa of 2^23 and 2^23 is taken away. What comes out is the number times 2^place; who
 * multiplies by it next divides by that power, which is exact.
 */
#pragma once

#include "quantized.h"

/** Bits by which `number_in_place` leaves number i of a run too high. */
template <uint kWidth>
inline uint place_of(uint i) {
  const uint shift = i * kWidth % 32;
  if (shift + kWidth <= 23) return shift;
  return shift + kWidth <= 32 ? shift - 16 : 0;
}

template <uint kWidth>
inline float number_in_place(const thread uint* words, uint i) {
  const uint mask = (1u << kWidth) - 1;
  const uint word = i * kWidth / 32;
  const uint shift = i * kWidth % 32;
  uint bits;
  if (shift + kWidth <= 23) {
    bits = with_bits_of(words[word], mask << shift, 0x4B000000u);
  } else if (shift + kWidth <= 32) {
    bits = with_bits_of(words[word] >> 16, mask << (shift - 16), 0x4B000000u);
  } else {
    bits = with_bits_of((words[word] >> shift) | (words[word + 1] << (32 - shift)), mask, 0x4B000000u);
  }
  return as_type<float>(bits) - 8388608.0f;
}

/**
 * Numbers j and j + 4 of a word of eight 4-bit numbers, less CENTRE, j < 4. Their bits are put into the
 * mantissas of two halves 1024; what comes out is exact.
 */
enum { CENTRE = 8 };
inline half2 centred_pair(uint word, uint j) {
  const uint shifted = j < 2 ? word : word >> 8;
  if (j % 2 == 0) {
    const half2 pair = as_type<half2>(with_bits_of(shifted, 0x000F000Fu, 0x64006400u));
    return fused(pair, make_half2(1.0f, 1.0f),
                 make_half2(-1024.0f - float(CENTRE), -1024.0f - float(CENTRE)));
  }
  const half2 pair = as_type<half2>(with_bits_of(shifted, 0x00F000F0u, 0x64006400u));
  return fused(pair, make_half2(0.0625f, 0.0625f),
               make_half2(-64.0f - float(CENTRE), -64.0f - float(CENTRE)));
}

/** 2^-place_of(i) */
template <uint kWidth>
inline float place_factor(uint i) {
  return 1.0f / float(1u << place_of<kWidth>(i));
}

/** `count` words in as few loads as their alignment allows. */
template <uint kCount>
inline void load_words(DEVICE(const uint) source, thread uint* words) {
  if (kCount % 4 == 0) {
    UNROLL for (uint i = 0; i < kCount / 4; i++) {
      const uint4 four = AS_DEVICE(const uint4, source)[i];
      words[4 * i] = four.x;
      words[4 * i + 1] = four.y;
      words[4 * i + 2] = four.z;
      words[4 * i + 3] = four.w;
    }
  } else if (kCount % 2 == 0) {
    UNROLL for (uint i = 0; i < kCount / 2; i++) {
      const uint2 two = AS_DEVICE(const uint2, source)[i];
      words[2 * i] = two.x;
      words[2 * i + 1] = two.y;
    }
  } else {
    UNROLL for (uint i = 0; i < kCount; i++) words[i] = source[i];
  }
}

/** 16 numbers from number `first` of a packed weight on, a multiple of 16, in (kWidth + 1) / 2 words. */
template <uint kWidth>
inline void load_half_run(DEVICE(const uint) source, ulong first, thread uint* words) {
  if (kWidth % 2 == 0) {
    load_words<kWidth / 2>(source + first / 16 * (kWidth / 2), words);
    return;
  }
  // A half of an odd number of words: the second one begins in the middle of a word.
  const uint half_run = uint(first / 16 % 2);
  const ulong word = first / 32 * kWidth + half_run * (kWidth / 2);
  UNROLL for (uint i = 0; i < (kWidth + 1) / 2; i++) words[i] = source[word + i];
  if (half_run == 0) return;
  UNROLL for (uint i = 0; i < (kWidth + 1) / 2; i++) {
    words[i] = words[i] >> 16 | (i + 1 < (kWidth + 1) / 2 ? words[i + 1] << 16 : 0);
  }
}

/** Whether a run of 32 numbers is two groups. */
inline bool has_fine_groups() {
  return kGroupSize == 16;
}

/** w[row, column … column + 31] of an affine weight; column is a multiple of 32 below `columns`. */
template <uint kWidth>
inline void load_packed_run(DEVICE(const uchar) weight, DEVICE(const uchar) scales,
                            DEVICE(const uchar) biases, uint row, uint column, uint columns,
                            thread float* values) {
  uint words[kWidth];
  DEVICE(const uint) source = AS_DEVICE(const uint, weight);
  load_words<kWidth>(source + (ulong(row) * columns + column) / 32 * kWidth, words);
  const uint group = row * (columns / kGroupSize) + column / kGroupSize;
  float scale = load_value(scales, kScaleType, group);
  float bias = load_value(biases, kScaleType, group);
  UNROLL for (uint i = 0; i < 32; i++) {
    if (has_fine_groups() && i == 16) {
      scale = load_value(scales, kScaleType, group + 1);
      bias = load_value(biases, kScaleType, group + 1);
    }
    values[i] = fma(number_in_place<kWidth>(words, i), scale * place_factor<kWidth>(i), bias);
  }
}

/** `count` elements from `index`, zeros beyond; vector loads when `is_aligned` and all are there. */
inline void load_dense_run(DEVICE(const uchar) data, uint type, ulong index, uint count, bool is_aligned,
                           uint length, thread float* values) {
  DEVICE(const uchar) source = data + index * (type == DTYPE_F32 ? 4 : 2);
  if (is_aligned && count >= length) {
    UNROLL for (uint i = 0; i < length; i += 4) {
      const float4 four = load_values4(source, type, i);
      values[i] = four.x;
      values[i + 1] = four.y;
      values[i + 2] = four.z;
      values[i + 3] = four.w;
    }
  } else {
    UNROLL for (uint i = 0; i < length; i++) values[i] = i < count ? load_value(source, type, i) : 0.0f;
  }
}

/** w[row, column … column + 31] of a weight of any format, zeros from `columns` on; column is a multiple
 * of 32. */
inline void load_weight_run(DEVICE(const uchar) weight, DEVICE(const uchar) scales,
                            DEVICE(const uchar) biases, uint row, uint column, uint columns,
                            thread float* values) {
  if (column >= columns) {
    for (uint i = 0; i < 32; i++) values[i] = 0.0f;
    return;
  }
  if (kWeightType != DTYPE_AFFINE) {
    load_dense_run(weight, kWeightType, ulong(row) * columns + column, columns - column, columns % 4 == 0, 32,
                   values);
    return;
  }
  switch (kBits) {
    case 2:
      return load_packed_run<2>(weight, scales, biases, row, column, columns, values);
    case 3:
      return load_packed_run<3>(weight, scales, biases, row, column, columns, values);
    case 4:
      return load_packed_run<4>(weight, scales, biases, row, column, columns, values);
    case 5:
      return load_packed_run<5>(weight, scales, biases, row, column, columns, values);
    case 6:
      return load_packed_run<6>(weight, scales, biases, row, column, columns, values);
    case 8:
      return load_packed_run<8>(weight, scales, biases, row, column, columns, values);
  }
}
