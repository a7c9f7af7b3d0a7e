/**
 * Weights as the kernels read them: plain data without functions, because kernels are compiled once per
 * instruction set.
 */
#pragma once

#include <stdint.h>

namespace anllm {

enum class Float : uint8_t { kF32, kF16, kBf16 };
enum class Coding : uint8_t { kFloats, kNibbles, kBytes };

/** Rows that lie together in a block, one a vector lane. */
constexpr int64_t kBlockRows = 16;

/**
 * A matrix [rows, cols] in blocks of 16 rows, the last block filled up with zeros.
 *
 * kFloats: for each column 16 `scalar`s.
 * kNibbles, kBytes: w = code * scale + bias. For each group of `group_size` columns the codes, then 16 scales
 * and 16 biases as `scalar`s. Codes of bytes: for every 4 columns 64 bytes [16 rows][4 columns]. Codes of
 * nibbles: for every 8 columns 64 bytes, the first 4 columns in the low nibbles and the last 4 in the high
 * nibbles.
 */
struct Matrix {
  const uint8_t* data;
  int64_t rows;
  int64_t cols;
  /** Bytes from one block to the next. */
  int64_t block_bytes;
  /** Columns that share a scale, a multiple of 32 (nibbles: of 16) that divides cols; 0 for floats. */
  int64_t group_size;
  Coding coding;
  Float scalar;
};

}  // namespace anllm
