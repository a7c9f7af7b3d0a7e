/**
 * One number of each row of a block in vectors of 16 lanes, as kernels/matrix.h wants codes and scales.
 * Packing is compiled for every machine alike, so these are the compiler's own vectors.
 */
#pragma once

#include <cstdint>
#include <cstring>

#include "../kernels/inline.h"
#include "../kernels/matrix.h"

namespace anllm::weights {

typedef uint32_t Unsigned4 __attribute__((vector_size(16)));
typedef int32_t Signed4 __attribute__((vector_size(16)));
typedef float Float4 __attribute__((vector_size(16)));

constexpr int kVectors = kBlockRows / 4;

/** 16 words; four bytes of a word are neighbouring codes, the first in the lowest bits. */
struct Words {
  Unsigned4 v[kVectors];
};
struct Floats {
  Float4 v[kVectors];
};

/** Applies a function to the vectors of its operands, one after the other. */
template <class Result, class Body>
ANLLM_INLINE Result ForVectors(const Body& body) {
  return {{body(0), body(1), body(2), body(3)}};
}

ANLLM_INLINE Words operator&(const Words& a, uint32_t mask) {
  return ForVectors<Words>([&](int i) { return a.v[i] & mask; });
}
ANLLM_INLINE Words operator|(const Words& a, const Words& b) {
  return ForVectors<Words>([&](int i) { return a.v[i] | b.v[i]; });
}
ANLLM_INLINE Words operator^(const Words& a, uint32_t bits) {
  return ForVectors<Words>([&](int i) { return a.v[i] ^ bits; });
}
ANLLM_INLINE Words operator<<(const Words& a, int bits) {
  return ForVectors<Words>([&](int i) { return a.v[i] << bits; });
}
ANLLM_INLINE Words operator>>(const Words& a, int bits) {
  return ForVectors<Words>([&](int i) { return a.v[i] >> bits; });
}
ANLLM_INLINE Floats operator*(const Floats& a, const Floats& b) {
  return ForVectors<Floats>([&](int i) { return a.v[i] * b.v[i]; });
}
ANLLM_INLINE Floats operator*(const Floats& a, float b) {
  return ForVectors<Floats>([&](int i) { return a.v[i] * b; });
}
/** Words below 2^31 plus a constant. */
ANLLM_INLINE Floats ToFloats(const Words& a, int32_t plus = 0) {
  return ForVectors<Floats>(
      [&](int i) { return __builtin_convertvector(reinterpret_cast<Signed4>(a.v[i]) + plus, Float4); });
}
ANLLM_INLINE Words BitsOf(const Floats& a) {
  Words bits;
  std::memcpy(&bits, &a, sizeof(bits));
  return bits;
}
/** Byte k of each word. */
ANLLM_INLINE Words ByteOf(const Words& a, int k) {
  return a >> 8 * k & 255;
}
/** Byte k of each word, signed. */
ANLLM_INLINE Floats SignedByteOf(const Words& a, int k) {
  return ForVectors<Floats>([&](int i) {
    const Unsigned4 high = a.v[i] << (24 - 8 * k);
    return __builtin_convertvector(reinterpret_cast<Signed4>(high) >> 24, Float4);
  });
}

/** binary16 in the lower halves of words to binary32: a multiplication rebases the exponent. */
ANLLM_INLINE Floats WidenHalves(const Words& halves) {
  return ForVectors<Floats>([&](int i) {
    const Unsigned4 moved = (halves.v[i] & 0x7fff) << 13;
    const Float4 magnitude = reinterpret_cast<Float4>(moved) * 0x1p112f;
    const Unsigned4 special = reinterpret_cast<Unsigned4>((halves.v[i] & 0x7c00) == 0x7c00) & 0x7f800000;
    const Unsigned4 bits = reinterpret_cast<Unsigned4>(magnitude) | special | (halves.v[i] & 0x8000) << 16;
    return reinterpret_cast<Float4>(bits);
  });
}

/** The nearest binary16 in the lower halves of words: NarrowHalf of half.h in lanes. */
ANLLM_INLINE Words NarrowHalves(const Floats& a) {
  return ForVectors<Words>([&](int i) {
    const Unsigned4 all = reinterpret_cast<Unsigned4>(a.v[i]);
    const Signed4 magnitude = reinterpret_cast<Signed4>(all) & 0x7fffffff;
    // Of what is below 2^-14 the addition leaves units of 2^-24 in the last places.
    const Float4 units = reinterpret_cast<Float4>(magnitude) + 0.5f;
    const Signed4 tiny = reinterpret_cast<Signed4>(units) - 0x3f000000;
    const Signed4 moved = magnitude - (112 << 23);
    const Signed4 rounded = (moved + 0xfff + (moved >> 13 & 1)) >> 13;
    const Signed4 is_large = rounded > 0x7c00;
    const Signed4 normal = (is_large & 0x7c00) | (~is_large & rounded);
    const Signed4 is_tiny = magnitude < (113 << 23);
    const Signed4 half = (is_tiny & tiny) | (~is_tiny & normal);
    return reinterpret_cast<Unsigned4>(half) | (all >> 16 & 0x8000);
  });
}

/** The lower halves of 16 words. */
ANLLM_INLINE void StoreHalves(const Words& a, uint8_t* target) {
  uint32_t words[kBlockRows];
  std::memcpy(words, &a, sizeof(words));
  uint16_t halves[kBlockRows];
  for (int i = 0; i < kBlockRows; i++) halves[i] = static_cast<uint16_t>(words[i]);
  std::memcpy(target, halves, sizeof(halves));
}

/** Where something of each of the 16 rows lies. */
struct RowPointers {
  const uint8_t* row[kBlockRows];
};

/** Two bytes of each row, `offset` from its pointer. */
ANLLM_INLINE Words LoadShorts(const RowPointers& rows, int64_t offset) {
  uint32_t words[kBlockRows];
  for (int i = 0; i < kBlockRows; i++) {
    uint16_t bits;
    std::memcpy(&bits, rows.row[i] + offset, sizeof(bits));
    words[i] = bits;
  }
  Words result;
  std::memcpy(&result, words, sizeof(result));
  return result;
}

/** Four bytes of each row. */
ANLLM_INLINE Words LoadWord(const RowPointers& rows, int64_t offset) {
  uint32_t words[kBlockRows];
  for (int i = 0; i < kBlockRows; i++) std::memcpy(&words[i], rows.row[i] + offset, 4);
  Words result;
  std::memcpy(&result, words, sizeof(result));
  return result;
}

/** 4 * `count` bytes of each row, a multiple of 16. */
ANLLM_INLINE void LoadWords(const RowPointers& rows, int64_t offset, int count, Words* words) {
  for (int first = 0; first < count; first += 4, offset += 16) {
    for (int i = 0; i < kVectors; i++) {
      Unsigned4 row[4];
      for (int k = 0; k < 4; k++) std::memcpy(&row[k], rows.row[4 * i + k] + offset, 16);
      // Four rows of four words become four words of four rows.
      const Unsigned4 low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
      const Unsigned4 low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
      const Unsigned4 high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
      const Unsigned4 high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
      words[first].v[i] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
      words[first + 1].v[i] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
      words[first + 2].v[i] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
      words[first + 3].v[i] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
  }
}

}  // namespace anllm::weights
