/**
 * Portable: the compiler's generic vectors, lowered to whatever the machine has. Runs everywhere, fast
 * nowhere.
 */
#pragma once

#include <stddef.h>

namespace anllm::ANLLM_ISA {

constexpr int kTileRows = 2;
constexpr int kScoreRows = 2;
constexpr int kScoreVectors = 2;
constexpr int kMixRows = 2;
constexpr int kMixVectors = 1;
constexpr int kStateVectors = 2;

typedef float FloatLanes __attribute__((vector_size(64)));
typedef int32_t IntLanes __attribute__((vector_size(64)));
typedef uint32_t UnsignedLanes __attribute__((vector_size(64)));

struct F32 {
  FloatLanes v;
};
struct I32 {
  IntLanes v;
};

template <class To, class From>
ANLLM_INLINE To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}
ANLLM_INLINE IntLanes LaneIndex() {
  return IntLanes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}
/** yes where mask is all ones, no where it is zero. */
ANLLM_INLINE F32 Blend(IntLanes mask, F32 yes, F32 no) {
  return {BitCast<FloatLanes>((BitCast<IntLanes>(yes.v) & mask) | (BitCast<IntLanes>(no.v) & ~mask))};
}

ANLLM_INLINE F32 Set(float x) {
  return {FloatLanes{} + x};
}
ANLLM_INLINE F32 Zero() {
  return {FloatLanes{}};
}
ANLLM_INLINE F32 Load(const float* p) {
  F32 x;
  __builtin_memcpy(&x.v, p, sizeof(x.v));
  return x;
}
ANLLM_INLINE F32 LoadPartial(const float* p, int n) {
  F32 x = Zero();
  __builtin_memcpy(&x.v, p, sizeof(float) * static_cast<size_t>(n));
  return x;
}
ANLLM_INLINE void Store(float* p, F32 x) {
  __builtin_memcpy(p, &x.v, sizeof(x.v));
}
ANLLM_INLINE void StorePartial(float* p, F32 x, int n) {
  __builtin_memcpy(p, &x.v, sizeof(float) * static_cast<size_t>(n));
}
ANLLM_INLINE F32 operator+(F32 x, F32 y) {
  return {x.v + y.v};
}
ANLLM_INLINE F32 operator-(F32 x, F32 y) {
  return {x.v - y.v};
}
ANLLM_INLINE F32 operator*(F32 x, F32 y) {
  return {x.v * y.v};
}
ANLLM_INLINE F32 operator/(F32 x, F32 y) {
  return {x.v / y.v};
}
ANLLM_INLINE F32 MulAdd(F32 x, F32 y, F32 z) {
  return {x.v * y.v + z.v};
}
ANLLM_INLINE F32 SelectLess(F32 x, F32 y, F32 yes, F32 no) {
  return Blend(x.v < y.v, yes, no);
}
ANLLM_INLINE F32 Min(F32 x, F32 y) {
  return SelectLess(x, y, x, y);
}
ANLLM_INLINE F32 Max(F32 x, F32 y) {
  return SelectLess(y, x, x, y);
}
ANLLM_INLINE F32 Abs(F32 x) {
  return {BitCast<FloatLanes>(BitCast<IntLanes>(x.v) & 0x7fffffff)};
}
/** Lanes [begin, end) of x, `fill` elsewhere. */
ANLLM_INLINE F32 KeepRange(F32 x, int begin, int end, float fill) {
  return Blend((LaneIndex() >= begin) & (LaneIndex() < end), x, Set(fill));
}
ANLLM_INLINE float Sum(F32 x) {
  float lanes[16];
  Store(lanes, x);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; i++) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}
ANLLM_INLINE float Highest(F32 x) {
  float best = x.v[0];
  for (int i = 1; i < 16; i++) best = x.v[i] > best ? x.v[i] : best;
  return best;
}

/**
 * IEEE 754 binary16 to binary32: the exponent is rebased by a multiplication, which also normalises
 * subnormals.
 */
ANLLM_INLINE F32 WidenHalf(UnsignedLanes bits) {
  const FloatLanes magnitude = BitCast<FloatLanes>((bits & 0x7fff) << 13) * 0x1p112f;
  const UnsignedLanes special = BitCast<UnsignedLanes>((bits & 0x7c00) == 0x7c00) & 0x7f800000;
  return {BitCast<FloatLanes>(BitCast<UnsignedLanes>(magnitude) | special | ((bits & 0x8000) << 16))};
}
ANLLM_INLINE F32 LoadHalf(const uint16_t* p) {
  UnsignedLanes bits;
  for (int i = 0; i < 16; i++) bits[i] = p[i];
  return WidenHalf(bits);
}
ANLLM_INLINE void StoreHalf(uint16_t* p, F32 x) {
  const F32 magnitude = Min(Abs(x), Set(65504.0f));
  const UnsignedLanes sign = (BitCast<UnsignedLanes>(x.v) >> 16) & 0x8000;
  // Rounds to nearest even by an addition that leaves the half's last place as the float's last place.
  const UnsignedLanes value = BitCast<UnsignedLanes>(magnitude.v);
  const UnsignedLanes normal = (value + 0xfff + ((value >> 13) & 1) - (112u << 23)) >> 13;
  const UnsignedLanes tiny = BitCast<UnsignedLanes>(magnitude.v + 0.5f) - 0x3f000000;
  const UnsignedLanes isTiny = BitCast<UnsignedLanes>(magnitude.v < 0x1p-14f);
  const UnsignedLanes half = (tiny & isTiny) | (normal & ~isTiny) | sign;
  for (int i = 0; i < 16; i++) p[i] = static_cast<uint16_t>(half[i]);
}
ANLLM_INLINE F32 LoadBfloat(const uint16_t* p) {
  UnsignedLanes bits;
  for (int i = 0; i < 16; i++) bits[i] = p[i];
  return {BitCast<FloatLanes>(bits << 16)};
}

/** Signed bytes. */
ANLLM_INLINE F32 LoadBytes(const int8_t* p) {
  FloatLanes x;
  for (int i = 0; i < 16; i++) x[i] = p[i];
  return {x};
}

ANLLM_INLINE I32 LoadInts(const uint8_t* p) {
  I32 x;
  __builtin_memcpy(&x.v, p, sizeof(x.v));
  return x;
}
ANLLM_INLINE I32 Bits(I32 x, int shift, int mask) {
  return {BitCast<IntLanes>((BitCast<UnsignedLanes>(x.v) >> shift) & static_cast<uint32_t>(mask))};
}
ANLLM_INLINE F32 ToFloat(I32 x) {
  return {__builtin_convertvector(x.v, FloatLanes)};
}
/**
 * To nearest even, for |x| below 2^22: the addition of 1.5 * 2^23 leaves the integer in the fraction's last
 * places.
 */
ANLLM_INLINE I32 ToInt(F32 x) {
  return {BitCast<IntLanes>(x.v + 12582912.0f) - 0x4b400000};
}
ANLLM_INLINE F32 PowerOfTwo(I32 n) {
  return {BitCast<FloatLanes>((n.v + 127) << 23)};
}
ANLLM_INLINE void StoreBytes(int8_t* p, I32 x) {
  for (int i = 0; i < 16; i++) p[i] = static_cast<int8_t>(x.v[i]);
}

struct Quads {
  UnsignedLanes v;
};
struct Quad {
  int32_t column[4];
};

/** Subtracted from byte codes by LoadByteQuads, where the dot product wants signed ones. */
constexpr float kByteOffset = 0.0f;

ANLLM_INLINE void LoadByteQuads(const uint8_t* p, Quads* first, Quads* second) {
  first->v = BitCast<UnsignedLanes>(LoadInts(p).v);
  second->v = BitCast<UnsignedLanes>(LoadInts(p + 64).v);
}
ANLLM_INLINE void LoadNibbleQuads(const uint8_t* p, Quads* first, Quads* second) {
  const UnsignedLanes packed = BitCast<UnsignedLanes>(LoadInts(p).v);
  first->v = packed & 0x0f0f0f0f;
  second->v = (packed >> 4) & 0x0f0f0f0f;
}
ANLLM_INLINE Quad BroadcastQuad(const int8_t* p) {
  return {{p[0], p[1], p[2], p[3]}};
}

ANLLM_INLINE void LookUpE2m1(Quads* quads) {
  uint8_t bytes[sizeof(quads->v)];
  __builtin_memcpy(bytes, &quads->v, sizeof(bytes));
  for (uint8_t& byte : bytes) byte = kE2m1Steps[byte];
  __builtin_memcpy(&quads->v, bytes, sizeof(bytes));
}
ANLLM_INLINE void LoadE2m1Quads(const uint8_t* p, Quads* first, Quads* second) {
  LoadNibbleQuads(p, first, second);
  LookUpE2m1(first);
  LookUpE2m1(second);
}
ANLLM_INLINE void LoadSixBitQuads(const uint8_t* p, int i, Quads* first, Quads* second) {
  LoadNibbleQuads(p + 64 * i, first, second);
  const UnsignedLanes high = BitCast<UnsignedLanes>(LoadInts(p + 128).v) >> (4 * i);
  first->v |= (high & 0x03030303) << 4;
  second->v |= ((high >> 2) & 0x03030303) << 4;
}
ANLLM_INLINE I32 IntsOf(Quads quads) {
  return {BitCast<IntLanes>(quads.v)};
}

struct ByteDot {
  using Weights = Quads;
  using Columns = ByteDot;
  IntLanes sum = {};
  ANLLM_INLINE void Add(Quads w0, Quad x0, Quads w1, Quad x1) {
    for (int i = 0; i < 4; i++) {
      sum += BitCast<IntLanes>((w0.v >> (8 * i)) & 255) * x0.column[i];
      sum += BitCast<IntLanes>((w1.v >> (8 * i)) & 255) * x1.column[i];
    }
  }
  ANLLM_INLINE ByteDot Begin() const { return *this; }
  ANLLM_INLINE void End(const ByteDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {sum}; }
};
using NibbleDot = ByteDot;
using SixBitDot = ByteDot;

}  // namespace anllm::ANLLM_ISA
