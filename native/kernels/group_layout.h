/** Where codes and scalars of a group lie: kernels/matrix.h in functions, for what reads single weights. */
#pragma once

#include "inline.h"
#include "matrix.h"

namespace anllm {

/** Bytes of `columns` columns' codes of all rows of a block. */
ANLLM_INLINE int64_t CodesBytesOf(Coding coding, int64_t columns) {
  switch (coding) {
    case Coding::kNibbles:
    case Coding::kE2m1:
      return columns * kBlockRows / 2;
    case Coding::kSixBits:
      return columns * kBlockRows * 3 / 4;
    case Coding::kBytes:
    case Coding::kFloats:
      break;
  }
  return columns * kBlockRows;
}

/** Bytes of one scalar of all rows of a block. */
ANLLM_INLINE int64_t ScalarsBytesOf(Float scalar) {
  return kBlockRows * (scalar == Float::kF32 ? 4 : 2);
}

/** The code of zero; 0 where groups have a bias. */
ANLLM_INLINE int ZeroOf(Coding coding) {
  return coding == Coding::kE2m1 ? kE2m1Zero : coding == Coding::kSixBits ? kSixBitsZero : 0;
}

/** Bytes of a group of `columns` columns of all rows of a block. */
ANLLM_INLINE int64_t GroupBytesOf(Coding coding, Float scalar, int64_t columns) {
  return CodesBytesOf(coding, columns) + (ZeroOf(coding) == 0 ? 2 : 1) * ScalarsBytesOf(scalar);
}

ANLLM_INLINE int NibbleAt(const uint8_t* codes, int64_t lane, int64_t column) {
  return codes[column / 8 * 64 + 4 * lane + column % 4] >> (column % 8 < 4 ? 0 : 4) & 15;
}

/** The code of a column of the group whose codes begin at `codes`. */
ANLLM_INLINE int CodeAt(Coding coding, const uint8_t* codes, int64_t lane, int64_t column) {
  switch (coding) {
    case Coding::kNibbles:
      return NibbleAt(codes, lane, column);
    case Coding::kE2m1:
      return kE2m1Steps[NibbleAt(codes, lane, column)];
    case Coding::kSixBits: {
      const uint8_t* columns = codes + column / 16 * 192;
      const int high = columns[128 + 4 * lane + column % 4] >> column % 16 / 4 * 2 & 3;
      return NibbleAt(columns, lane, column % 16) | high << 4;
    }
    case Coding::kBytes:
    case Coding::kFloats:
      break;
  }
  return codes[column / 4 * 64 + 4 * lane + column % 4];
}

}  // namespace anllm
