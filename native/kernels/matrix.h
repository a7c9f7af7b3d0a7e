/**
 * Weights as the kernels read them: plain data without functions, because kernels are compiled once per
 * instruction set.
 */
#pragma once

#include <stdint.h>

namespace anllm {

enum class Float : uint8_t { kF32, kF16, kBf16 };
enum class Coding : uint8_t { kFloats, kNibbles, kBytes, kE2m1, kSixBits };

/** Rows that lie together in a block, one a vector lane. */
constexpr int64_t kBlockRows = 16;

/** E2M1's codes as whole numbers: value = (kE2m1Steps[code] - kE2m1Zero) / 2. */
constexpr uint8_t kE2m1Steps[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
constexpr int kE2m1Zero = 12;
/** The code of zero in six bits. */
constexpr int kSixBitsZero = 32;

/**
 * A matrix [rows, cols] in blocks of 16 rows, the last block filled up with zeros.
 *
 * kFloats: for each column 16 `scalar`s.
 * kNibbles, kBytes: w = code * scale + bias. For each group of `group_size` columns the codes, then 16 scales
 * and 16 biases as `scalar`s. Codes of bytes: for every 4 columns 64 bytes [16 rows][4 columns]. Codes of
 * nibbles: for every 8 columns 64 bytes, the first 4 columns in the low nibbles and the last 4 in the high
 * nibbles.
 * kE2m1, kSixBits: w = (code - zero) * scale, and no biases. E2M1 lies as nibbles; kE2m1Steps has their
 * numbers. Codes of six bits: for every 16 columns the low four bits as nibbles, then 64 bytes [16 rows][4],
 * whose bits 2q and 2q + 1 are the high ones of columns 4q to 4q + 3.
 */
struct Matrix {
  const uint8_t* data;
  int64_t rows;
  int64_t cols;
  /** Bytes from one block to the next. */
  int64_t block_bytes;
  /** Columns that share a scale, a multiple of 32 (bytes) or 16 that divides cols; 0 for floats. */
  int64_t group_size;
  Coding coding;
  Float scalar;
};

}  // namespace anllm
