/** AVX-512 F, BW, VL, DQ and VNNI: one 512-bit register a vector. */
#pragma once

#include <immintrin.h>

namespace anllm::ANLLM_ISA {

constexpr int kTileRows = 8;
constexpr int kScoreRows = 8;
constexpr int kScoreVectors = 2;
constexpr int kMixRows = 4;
constexpr int kMixVectors = 4;
constexpr int kStateVectors = 4;

struct F32 {
  __m512 v;
};
struct I32 {
  __m512i v;
};

ANLLM_INLINE __mmask16 FirstLanes(int n) {
  return static_cast<__mmask16>((1u << n) - 1u);
}

ANLLM_INLINE F32 Zero() {
  return {_mm512_setzero_ps()};
}
ANLLM_INLINE F32 Set(float x) {
  return {_mm512_set1_ps(x)};
}
ANLLM_INLINE F32 Load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
ANLLM_INLINE F32 LoadPartial(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(FirstLanes(n), p)};
}
ANLLM_INLINE void Store(float* p, F32 a) {
  _mm512_storeu_ps(p, a.v);
}
ANLLM_INLINE void StorePartial(float* p, F32 a, int n) {
  _mm512_mask_storeu_ps(p, FirstLanes(n), a.v);
}
ANLLM_INLINE F32 operator+(F32 a, F32 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
ANLLM_INLINE F32 operator-(F32 a, F32 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
ANLLM_INLINE F32 operator*(F32 a, F32 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
ANLLM_INLINE F32 operator/(F32 a, F32 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
ANLLM_INLINE F32 MulAdd(F32 a, F32 b, F32 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
ANLLM_INLINE F32 Min(F32 a, F32 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
ANLLM_INLINE F32 Max(F32 a, F32 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
ANLLM_INLINE F32 Abs(F32 a) {
  return {_mm512_abs_ps(a.v)};
}
ANLLM_INLINE F32 SelectLess(F32 a, F32 b, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}
/** Lanes [begin, end) of v, `fill` elsewhere. */
ANLLM_INLINE F32 KeepRange(F32 a, int begin, int end, float fill) {
  const __mmask16 keep = FirstLanes(end) & static_cast<__mmask16>(~FirstLanes(begin));
  return {_mm512_mask_blend_ps(keep, _mm512_set1_ps(fill), a.v)};
}
ANLLM_INLINE float Sum(F32 a) {
  const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
ANLLM_INLINE float Highest(F32 a) {
  return _mm512_reduce_max_ps(a.v);
}

ANLLM_INLINE F32 LoadHalf(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
ANLLM_INLINE void StoreHalf(uint16_t* p, F32 a) {
  const F32 bounded = Max(Min(a, Set(65504.0f)), Set(-65504.0f));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(bounded.v, _MM_FROUND_TO_NEAREST_INT));
}
ANLLM_INLINE F32 LoadBfloat(const uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}

/** Signed bytes. */
ANLLM_INLINE F32 LoadBytes(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}

ANLLM_INLINE I32 LoadInts(const uint8_t* p) {
  return {_mm512_loadu_si512(p)};
}
ANLLM_INLINE I32 Bits(I32 a, int shift, int mask) {
  return {_mm512_and_si512(_mm512_srli_epi32(a.v, static_cast<unsigned>(shift)), _mm512_set1_epi32(mask))};
}
ANLLM_INLINE F32 ToFloat(I32 a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
ANLLM_INLINE I32 ToInt(F32 a) {
  return {_mm512_cvtps_epi32(a.v)};
}
ANLLM_INLINE F32 PowerOfTwo(I32 n) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}
ANLLM_INLINE void StoreBytes(int8_t* p, I32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

struct Quads {
  __m512i v;
};
/** In memory, since the dot product spreads it over all lanes by itself. */
struct Quad {
  const int8_t* p;
};

/** Subtracted from byte codes by LoadByteQuads, where the dot product wants signed ones. */
constexpr float kByteOffset = 0.0f;

ANLLM_INLINE void LoadNibbleQuads(const uint8_t* p, Quads* first, Quads* second) {
  const __m512i packed = _mm512_loadu_si512(p);
  const __m512i mask = _mm512_set1_epi8(15);
  first->v = _mm512_and_si512(packed, mask);
  second->v = _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask);
}
ANLLM_INLINE void LoadByteQuads(const uint8_t* p, Quads* first, Quads* second) {
  first->v = _mm512_loadu_si512(p);
  second->v = _mm512_loadu_si512(p + 64);
}
ANLLM_INLINE Quad BroadcastQuad(const int8_t* p) {
  return {p};
}

ANLLM_INLINE void LoadE2m1Quads(const uint8_t* p, Quads* first, Quads* second) {
  LoadNibbleQuads(p, first, second);
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Steps));
  const __m512i steps = _mm512_broadcast_i32x4(table);
  first->v = _mm512_shuffle_epi8(steps, first->v);
  second->v = _mm512_shuffle_epi8(steps, second->v);
}
/** Bits `shift` and the next of each byte as its bits 4 and 5. */
ANLLM_INLINE __m512i HighBits(__m512i x, unsigned shift) {
  const __m512i moved = shift <= 4 ? _mm512_slli_epi16(x, 4 - shift) : _mm512_srli_epi16(x, shift - 4);
  return _mm512_and_si512(moved, _mm512_set1_epi8(0x30));
}
ANLLM_INLINE void LoadSixBitQuads(const uint8_t* p, int i, Quads* first, Quads* second) {
  LoadNibbleQuads(p + 64 * i, first, second);
  const __m512i high = _mm512_loadu_si512(p + 128);
  const auto shift = static_cast<unsigned>(4 * i);
  first->v = _mm512_or_si512(first->v, HighBits(high, shift));
  second->v = _mm512_or_si512(second->v, HighBits(high, shift + 2));
}
ANLLM_INLINE I32 IntsOf(Quads quads) {
  return {quads.v};
}

/**
 * sum += w · x for each row. In words of the processor: compilers spread the quad in an instruction of its
 * own, and copy sums from register to register until they have none left.
 */
ANLLM_INLINE void AddProducts(__m512i* sum, Quads w, Quad x) {
  using Bytes = int8_t[4];
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(*sum) : "v"(w.v), "m"(*reinterpret_cast<const Bytes*>(x.p)));
}

/** Two chains: one addition needs five cycles, and two begin in each. */
struct ByteDot {
  using Weights = Quads;
  using Columns = ByteDot;
  __m512i first = _mm512_setzero_si512(), second = _mm512_setzero_si512();
  ANLLM_INLINE void Add(Quads w0, Quad x0, Quads w1, Quad x1) {
    AddProducts(&first, w0, x0);
    AddProducts(&second, w1, x1);
  }
  ANLLM_INLINE ByteDot Begin() const { return *this; }
  ANLLM_INLINE void End(const ByteDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {_mm512_add_epi32(first, second)}; }
};
using NibbleDot = ByteDot;
using SixBitDot = ByteDot;

}  // namespace anllm::ANLLM_ISA
