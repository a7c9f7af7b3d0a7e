/** How the codings of kernels/matrix.h are read 8 columns at a time. */
#pragma once

#include "../../simd/simd.h"

namespace anllm::ANLLM_ISA {

/**
 * Dot: what sums the products. kBytes: of 8 columns. kZero: the code of zero, or 0 where each group has a
 * bias. kOffset: what Load has subtracted. Load: columns 8i to 8i + 7 of those that begin at p.
 */
struct NibbleCodes {
  using Dot = NibbleDot;
  static constexpr int64_t kBytes = 64;
  static constexpr int kZero = 0;
  static constexpr float kOffset = 0.0f;
  ANLLM_INLINE static void Load(const uint8_t* p, int i, Dot::Weights* first, Dot::Weights* second) {
    LoadNibbleQuads(p + kBytes * i, first, second);
  }
};

struct ByteCodes {
  using Dot = ByteDot;
  static constexpr int64_t kBytes = 128;
  static constexpr int kZero = 0;
  static constexpr float kOffset = kByteOffset;
  ANLLM_INLINE static void Load(const uint8_t* p, int i, Dot::Weights* first, Dot::Weights* second) {
    LoadByteQuads(p + kBytes * i, first, second);
  }
};

struct E2m1Codes {
  using Dot = NibbleDot;
  static constexpr int64_t kBytes = 64;
  static constexpr int kZero = kE2m1Zero;
  static constexpr float kOffset = 0.0f;
  ANLLM_INLINE static void Load(const uint8_t* p, int i, Dot::Weights* first, Dot::Weights* second) {
    LoadE2m1Quads(p + kBytes * i, first, second);
  }
};

/** Of 16 columns that begin at p. */
struct SixBitCodes {
  using Dot = SixBitDot;
  static constexpr int64_t kBytes = 96;
  static constexpr int kZero = kSixBitsZero;
  static constexpr float kOffset = 0.0f;
  ANLLM_INLINE static void Load(const uint8_t* p, int i, Dot::Weights* first, Dot::Weights* second) {
    LoadSixBitQuads(p, i, first, second);
  }
};

}  // namespace anllm::ANLLM_ISA
