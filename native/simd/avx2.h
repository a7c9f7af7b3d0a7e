/** AVX2 with FMA and F16C, and AVX-VNNI where the compiler is told of it: two 256-bit registers a vector. */
#pragma once

#include <immintrin.h>

namespace anllm::ANLLM_ISA {

constexpr int kTileRows = 4;
constexpr int kScoreRows = 4;
constexpr int kScoreVectors = 1;
constexpr int kMixRows = 4;
constexpr int kMixVectors = 1;
constexpr int kStateVectors = 2;

struct F32 {
  __m256 a, b;
};
struct I32 {
  __m256i a, b;
};

/** All ones in lanes below n of the eight lanes from `first`. */
ANLLM_INLINE __m256i LanesBelow(int n, int first) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n - first), lane);
}

ANLLM_INLINE F32 Zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
ANLLM_INLINE F32 Set(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
ANLLM_INLINE F32 Load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
ANLLM_INLINE F32 LoadPartial(const float* p, int n) {
  return {_mm256_maskload_ps(p, LanesBelow(n, 0)), _mm256_maskload_ps(p + 8, LanesBelow(n, 8))};
}
ANLLM_INLINE void Store(float* p, F32 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
ANLLM_INLINE void StorePartial(float* p, F32 x, int n) {
  _mm256_maskstore_ps(p, LanesBelow(n, 0), x.a);
  _mm256_maskstore_ps(p + 8, LanesBelow(n, 8), x.b);
}
ANLLM_INLINE F32 operator+(F32 x, F32 y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
ANLLM_INLINE F32 operator-(F32 x, F32 y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
ANLLM_INLINE F32 operator*(F32 x, F32 y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
ANLLM_INLINE F32 operator/(F32 x, F32 y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
ANLLM_INLINE F32 MulAdd(F32 x, F32 y, F32 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
ANLLM_INLINE F32 Min(F32 x, F32 y) {
  return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
ANLLM_INLINE F32 Max(F32 x, F32 y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
ANLLM_INLINE F32 Abs(F32 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
ANLLM_INLINE F32 SelectLess(F32 x, F32 y, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ))};
}
ANLLM_INLINE __m256 KeepRangeOf8(__m256 x, int begin, int end, int first, __m256 fill) {
  const __m256i keep = _mm256_andnot_si256(LanesBelow(begin, first), LanesBelow(end, first));
  return _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(keep));
}
/** Lanes [begin, end) of x, `fill` elsewhere. */
ANLLM_INLINE F32 KeepRange(F32 x, int begin, int end, float fill) {
  const __m256 other = _mm256_set1_ps(fill);
  return {KeepRangeOf8(x.a, begin, end, 0, other), KeepRangeOf8(x.b, begin, end, 8, other)};
}
ANLLM_INLINE float Sum(F32 x) {
  const __m256 b = _mm256_add_ps(x.a, x.b);
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
ANLLM_INLINE float Highest(F32 x) {
  const __m256 b = _mm256_max_ps(x.a, x.b);
  __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

ANLLM_INLINE __m128i Load128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
ANLLM_INLINE __m256i Load256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
ANLLM_INLINE F32 LoadHalf(const uint16_t* p) {
  return {_mm256_cvtph_ps(Load128(p)), _mm256_cvtph_ps(Load128(p + 8))};
}
ANLLM_INLINE void StoreHalf(uint16_t* p, F32 x) {
  const F32 bounded = Max(Min(x, Set(65504.0f)), Set(-65504.0f));
  __m128i* target = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(target, _mm256_cvtps_ph(bounded.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(target + 1, _mm256_cvtps_ph(bounded.b, _MM_FROUND_TO_NEAREST_INT));
}
ANLLM_INLINE __m256 WidenBfloat(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
ANLLM_INLINE F32 LoadBfloat(const uint16_t* p) {
  return {WidenBfloat(Load128(p)), WidenBfloat(Load128(p + 8))};
}

/** Signed bytes. */
ANLLM_INLINE F32 LoadBytes(const int8_t* p) {
  const __m128i bytes = Load128(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

ANLLM_INLINE I32 LoadInts(const uint8_t* p) {
  return {Load256(p), Load256(p + 32)};
}
ANLLM_INLINE I32 Bits(I32 x, int shift, int mask) {
  const __m256i keep = _mm256_set1_epi32(mask);
  return {_mm256_and_si256(_mm256_srli_epi32(x.a, shift), keep),
          _mm256_and_si256(_mm256_srli_epi32(x.b, shift), keep)};
}
ANLLM_INLINE F32 ToFloat(I32 x) {
  return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}
ANLLM_INLINE I32 ToInt(F32 x) {
  return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}
ANLLM_INLINE __m256 PowerOfTwo8(__m256i n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
ANLLM_INLINE F32 PowerOfTwo(I32 n) {
  return {PowerOfTwo8(n.a), PowerOfTwo8(n.b)};
}
ANLLM_INLINE void StoreBytes(int8_t* p, I32 x) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}

struct Quad {
  __m256i v;
};

ANLLM_INLINE I32 LowNibbles(I32 packed) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(packed.a, mask), _mm256_and_si256(packed.b, mask)};
}
ANLLM_INLINE I32 HighNibbles(I32 packed) {
  return LowNibbles({_mm256_srli_epi16(packed.a, 4), _mm256_srli_epi16(packed.b, 4)});
}
ANLLM_INLINE void LoadNibbleQuads(const uint8_t* p, I32* first, I32* second) {
  const I32 packed = LoadInts(p);
  *first = LowNibbles(packed);
  *second = HighNibbles(packed);
}
ANLLM_INLINE Quad BroadcastQuad(const int8_t* p) {
  int32_t quad;
  __builtin_memcpy(&quad, p, 4);
  return {_mm256_set1_epi32(quad)};
}

ANLLM_INLINE void LoadE2m1Quads(const uint8_t* p, I32* first, I32* second) {
  LoadNibbleQuads(p, first, second);
  const __m256i steps = _mm256_broadcastsi128_si256(Load128(kE2m1Steps));
  *first = {_mm256_shuffle_epi8(steps, first->a), _mm256_shuffle_epi8(steps, first->b)};
  *second = {_mm256_shuffle_epi8(steps, second->a), _mm256_shuffle_epi8(steps, second->b)};
}
/** Bits `shift` and the next of each byte as its bits 4 and 5. */
ANLLM_INLINE __m256i HighBits(__m256i x, int shift) {
  const __m256i moved = shift <= 4 ? _mm256_slli_epi16(x, 4 - shift) : _mm256_srli_epi16(x, shift - 4);
  return _mm256_and_si256(moved, _mm256_set1_epi8(0x30));
}
ANLLM_INLINE I32 AddHighBits(I32 low, I32 high, int shift) {
  return {_mm256_or_si256(low.a, HighBits(high.a, shift)), _mm256_or_si256(low.b, HighBits(high.b, shift))};
}
ANLLM_INLINE void LoadSixBitQuads(const uint8_t* p, int i, I32* first, I32* second) {
  LoadNibbleQuads(p + 64 * i, first, second);
  const I32 high = LoadInts(p + 128);
  *first = AddHighBits(*first, high, 4 * i);
  *second = AddHighBits(*second, high, 4 * i + 2);
}
ANLLM_INLINE I32 IntsOf(I32 quads) {
  return quads;
}

/** kByteOffset: subtracted from byte codes by LoadByteQuads, where the dot product wants signed ones. */
#if defined(__AVXVNNI__)

constexpr float kByteOffset = 0.0f;

ANLLM_INLINE void LoadByteQuads(const uint8_t* p, I32* first, I32* second) {
  *first = LoadInts(p);
  *second = LoadInts(p + 64);
}

struct ByteDot {
  using Weights = I32;
  using Columns = ByteDot;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();
  ANLLM_INLINE void Add(I32 w0, Quad x0, I32 w1, Quad x1) {
    a = _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(a, w0.a, x0.v), w1.a, x1.v);
    b = _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(b, w0.b, x0.v), w1.b, x1.v);
  }
  ANLLM_INLINE ByteDot Begin() const { return *this; }
  ANLLM_INLINE void End(const ByteDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {a, b}; }
};
using NibbleDot = ByteDot;
using SixBitDot = ByteDot;

#else

constexpr float kByteOffset = 128.0f;

/** GCC would add the products of all columns as a tree, and keep them in memory meanwhile. */
ANLLM_INLINE void KeepOrder(__m256i* a, __m256i* b) {
  asm("" : "+x"(*a), "+x"(*b));
}

struct NibbleDot {
  using Weights = I32;
  /**
   * A pair of products of a nibble and an activation is at most 2 * 15 * 127: eight of them fit 16 bits. Of
   * E2M1's numbers up to 24 five do.
   */
  struct Columns {
    __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();
    ANLLM_INLINE void Add(I32 w, Quad x) {
      a = _mm256_add_epi16(a, _mm256_maddubs_epi16(w.a, x.v));
      b = _mm256_add_epi16(b, _mm256_maddubs_epi16(w.b, x.v));
      KeepOrder(&a, &b);
    }
    ANLLM_INLINE void Add(I32 w0, Quad x0, I32 w1, Quad x1) {
      Add(w0, x0);
      Add(w1, x1);
    }
  };
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();
  ANLLM_INLINE Columns Begin() const { return {}; }
  ANLLM_INLINE void End(const Columns& columns) {
    const __m256i ones = _mm256_set1_epi16(1);
    a = _mm256_add_epi32(a, _mm256_madd_epi16(columns.a, ones));
    b = _mm256_add_epi32(b, _mm256_madd_epi16(columns.b, ones));
  }
  ANLLM_INLINE I32 Total() const { return {a, b}; }
};

/** Two pairs of products of six bits, at most 4 * 63 * 127, fit 16 bits. */
struct SixBitDot {
  using Weights = I32;
  using Columns = SixBitDot;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();
  ANLLM_INLINE void Add(I32 w0, Quad x0, I32 w1, Quad x1) {
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i pairs_a =
        _mm256_add_epi16(_mm256_maddubs_epi16(w0.a, x0.v), _mm256_maddubs_epi16(w1.a, x1.v));
    const __m256i pairs_b =
        _mm256_add_epi16(_mm256_maddubs_epi16(w0.b, x0.v), _mm256_maddubs_epi16(w1.b, x1.v));
    a = _mm256_add_epi32(a, _mm256_madd_epi16(pairs_a, ones));
    b = _mm256_add_epi32(b, _mm256_madd_epi16(pairs_b, ones));
    KeepOrder(&a, &b);
  }
  ANLLM_INLINE SixBitDot Begin() const { return *this; }
  ANLLM_INLINE void End(const SixBitDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {a, b}; }
};

/** A pair of products is at most 2 * 128 * 127 and fits 16 bits: so the sign goes over to the activation. */
struct SignedBytes {
  __m256i value_a, value_b, size_a, size_b;
};
ANLLM_INLINE SignedBytes LoadSignedBytes(const uint8_t* p) {
  const I32 bytes = LoadInts(p);
  const __m256i offset = _mm256_set1_epi8(static_cast<char>(0x80));
  const __m256i a = _mm256_xor_si256(bytes.a, offset), b = _mm256_xor_si256(bytes.b, offset);
  return {a, b, _mm256_abs_epi8(a), _mm256_abs_epi8(b)};
}
ANLLM_INLINE void LoadByteQuads(const uint8_t* p, SignedBytes* first, SignedBytes* second) {
  *first = LoadSignedBytes(p);
  *second = LoadSignedBytes(p + 64);
}
struct ByteDot {
  using Weights = SignedBytes;
  using Columns = ByteDot;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();
  ANLLM_INLINE void Add(const SignedBytes& w, Quad x) {
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i pairs_a = _mm256_maddubs_epi16(w.size_a, _mm256_sign_epi8(x.v, w.value_a));
    const __m256i pairs_b = _mm256_maddubs_epi16(w.size_b, _mm256_sign_epi8(x.v, w.value_b));
    a = _mm256_add_epi32(a, _mm256_madd_epi16(pairs_a, ones));
    b = _mm256_add_epi32(b, _mm256_madd_epi16(pairs_b, ones));
    KeepOrder(&a, &b);
  }
  ANLLM_INLINE void Add(const SignedBytes& w0, Quad x0, const SignedBytes& w1, Quad x1) {
    Add(w0, x0);
    Add(w1, x1);
  }
  ANLLM_INLINE ByteDot Begin() const { return *this; }
  ANLLM_INLINE void End(const ByteDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {a, b}; }
};

#endif

}  // namespace anllm::ANLLM_ISA
