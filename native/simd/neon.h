/** ARMv8.2 NEON with the integer dot product: four 128-bit registers a vector. */
#pragma once

#include <arm_neon.h>
#include <stddef.h>

namespace anllm::ANLLM_ISA {

constexpr int kTileRows = 4;
constexpr int kScoreRows = 2;
constexpr int kScoreVectors = 2;
constexpr int kMixRows = 4;
constexpr int kMixVectors = 1;
constexpr int kStateVectors = 2;

struct F32 {
  float32x4_t q[4];
};
struct I32 {
  int32x4_t q[4];
};

ANLLM_INLINE F32 Set(float x) {
  const float32x4_t v = vdupq_n_f32(x);
  return {{v, v, v, v}};
}
ANLLM_INLINE F32 Zero() {
  return Set(0.0f);
}
ANLLM_INLINE F32 Load(const float* p) {
  return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}
ANLLM_INLINE void Store(float* p, F32 x) {
  for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, x.q[i]);
}
ANLLM_INLINE F32 LoadPartial(const float* p, int n) {
  float lanes[16] = {};
  __builtin_memcpy(lanes, p, sizeof(float) * static_cast<size_t>(n));
  return Load(lanes);
}
ANLLM_INLINE void StorePartial(float* p, F32 x, int n) {
  float lanes[16];
  Store(lanes, x);
  __builtin_memcpy(p, lanes, sizeof(float) * static_cast<size_t>(n));
}
ANLLM_INLINE F32 operator+(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vaddq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 operator-(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vsubq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 operator*(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vmulq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 operator/(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vdivq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 MulAdd(F32 x, F32 y, F32 z) {
  for (int i = 0; i < 4; i++) z.q[i] = vfmaq_f32(z.q[i], x.q[i], y.q[i]);
  return z;
}
ANLLM_INLINE F32 Min(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vminq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 Max(F32 x, F32 y) {
  for (int i = 0; i < 4; i++) x.q[i] = vmaxq_f32(x.q[i], y.q[i]);
  return x;
}
ANLLM_INLINE F32 Abs(F32 x) {
  for (int i = 0; i < 4; i++) x.q[i] = vabsq_f32(x.q[i]);
  return x;
}
ANLLM_INLINE F32 SelectLess(F32 x, F32 y, F32 yes, F32 no) {
  for (int i = 0; i < 4; i++) x.q[i] = vbslq_f32(vcltq_f32(x.q[i], y.q[i]), yes.q[i], no.q[i]);
  return x;
}
/** Lanes [begin, end) of x, `fill` elsewhere. */
ANLLM_INLINE F32 KeepRange(F32 x, int begin, int end, float fill) {
  const int32_t first[4] = {0, 1, 2, 3};
  int32x4_t lane = vld1q_s32(first);
  for (int i = 0; i < 4; i++) {
    const uint32x4_t keep = vandq_u32(vcgeq_s32(lane, vdupq_n_s32(begin)), vcltq_s32(lane, vdupq_n_s32(end)));
    x.q[i] = vbslq_f32(keep, x.q[i], vdupq_n_f32(fill));
    lane = vaddq_s32(lane, vdupq_n_s32(4));
  }
  return x;
}
ANLLM_INLINE float Sum(F32 x) {
  const float32x4_t c = vaddq_f32(vaddq_f32(x.q[0], x.q[2]), vaddq_f32(x.q[1], x.q[3]));
  const float32x2_t d = vadd_f32(vget_low_f32(c), vget_high_f32(c));
  return vget_lane_f32(d, 0) + vget_lane_f32(d, 1);
}
ANLLM_INLINE float Highest(F32 x) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.q[0], x.q[1]), vmaxq_f32(x.q[2], x.q[3])));
}

ANLLM_INLINE F32 LoadHalf(const uint16_t* p) {
  F32 x;
  for (int i = 0; i < 4; i++) x.q[i] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i)));
  return x;
}
ANLLM_INLINE void StoreHalf(uint16_t* p, F32 x) {
  const F32 bounded = Max(Min(x, Set(65504.0f)), Set(-65504.0f));
  for (int i = 0; i < 4; i++) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(bounded.q[i])));
}
ANLLM_INLINE F32 LoadBfloat(const uint16_t* p) {
  F32 x;
  for (int i = 0; i < 4; i++) x.q[i] = vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16));
  return x;
}

/** Signed bytes. */
ANLLM_INLINE F32 LoadBytes(const int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t words[2] = {vmovl_s8(vget_low_s8(bytes)), vmovl_s8(vget_high_s8(bytes))};
  F32 x;
  for (int i = 0; i < 2; i++) {
    x.q[2 * i] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(words[i])));
    x.q[2 * i + 1] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(words[i])));
  }
  return x;
}

ANLLM_INLINE I32 LoadInts(const uint8_t* p) {
  I32 x;
  for (int i = 0; i < 4; i++) x.q[i] = vreinterpretq_s32_u8(vld1q_u8(p + 16 * i));
  return x;
}
ANLLM_INLINE I32 Bits(I32 x, int shift, int mask) {
  for (int i = 0; i < 4; i++) {
    const uint32x4_t shifted = vshlq_u32(vreinterpretq_u32_s32(x.q[i]), vdupq_n_s32(-shift));
    x.q[i] = vandq_s32(vreinterpretq_s32_u32(shifted), vdupq_n_s32(mask));
  }
  return x;
}
ANLLM_INLINE F32 ToFloat(I32 x) {
  F32 y;
  for (int i = 0; i < 4; i++) y.q[i] = vcvtq_f32_s32(x.q[i]);
  return y;
}
ANLLM_INLINE I32 ToInt(F32 x) {
  I32 y;
  for (int i = 0; i < 4; i++) y.q[i] = vcvtnq_s32_f32(x.q[i]);
  return y;
}
ANLLM_INLINE F32 PowerOfTwo(I32 n) {
  F32 y;
  for (int i = 0; i < 4; i++) {
    y.q[i] = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n.q[i], vdupq_n_s32(127)), 23));
  }
  return y;
}
ANLLM_INLINE void StoreBytes(int8_t* p, I32 x) {
  const int16x8_t low = vcombine_s16(vqmovn_s32(x.q[0]), vqmovn_s32(x.q[1]));
  const int16x8_t high = vcombine_s16(vqmovn_s32(x.q[2]), vqmovn_s32(x.q[3]));
  vst1q_s8(p, vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
}

struct Quads {
  int8x16_t q[4];
};
struct Quad {
  int8x16_t v;
};

/** Subtracted from byte codes by LoadByteQuads, where the dot product wants signed ones. */
constexpr float kByteOffset = 128.0f;

ANLLM_INLINE void LoadNibbleQuads(const uint8_t* p, Quads* first, Quads* second) {
  for (int i = 0; i < 4; i++) {
    const uint8x16_t packed = vld1q_u8(p + 16 * i);
    first->q[i] = vreinterpretq_s8_u8(vandq_u8(packed, vdupq_n_u8(15)));
    second->q[i] = vreinterpretq_s8_u8(vshrq_n_u8(packed, 4));
  }
}
ANLLM_INLINE void LoadByteQuads(const uint8_t* p, Quads* first, Quads* second) {
  for (int i = 0; i < 4; i++) {
    first->q[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(0x80)));
    second->q[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p + 64 + 16 * i), vdupq_n_u8(0x80)));
  }
}
ANLLM_INLINE Quad BroadcastQuad(const int8_t* p) {
  int32_t quad;
  __builtin_memcpy(&quad, p, 4);
  return {vreinterpretq_s8_s32(vdupq_n_s32(quad))};
}

ANLLM_INLINE void LoadE2m1Quads(const uint8_t* p, Quads* first, Quads* second) {
  LoadNibbleQuads(p, first, second);
  const int8x16_t steps = vreinterpretq_s8_u8(vld1q_u8(kE2m1Steps));
  for (int i = 0; i < 4; i++) {
    first->q[i] = vqtbl1q_s8(steps, vreinterpretq_u8_s8(first->q[i]));
    second->q[i] = vqtbl1q_s8(steps, vreinterpretq_u8_s8(second->q[i]));
  }
}
/** Bits `shift` and the next of each byte as its bits 4 and 5. */
ANLLM_INLINE int8x16_t HighBits(uint8x16_t x, int shift) {
  const uint8x16_t moved = vshlq_u8(x, vdupq_n_s8(static_cast<int8_t>(4 - shift)));
  return vreinterpretq_s8_u8(vandq_u8(moved, vdupq_n_u8(0x30)));
}
ANLLM_INLINE void LoadSixBitQuads(const uint8_t* p, int i, Quads* first, Quads* second) {
  LoadNibbleQuads(p + 64 * i, first, second);
  for (int k = 0; k < 4; k++) {
    const uint8x16_t high = vld1q_u8(p + 128 + 16 * k);
    first->q[k] = vorrq_s8(first->q[k], HighBits(high, 4 * i));
    second->q[k] = vorrq_s8(second->q[k], HighBits(high, 4 * i + 2));
  }
}
ANLLM_INLINE I32 IntsOf(Quads quads) {
  I32 x;
  for (int i = 0; i < 4; i++) x.q[i] = vreinterpretq_s32_s8(quads.q[i]);
  return x;
}

struct ByteDot {
  using Weights = Quads;
  using Columns = ByteDot;
  int32x4_t q[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
  ANLLM_INLINE void Add(Quads w0, Quad x0, Quads w1, Quad x1) {
    for (int i = 0; i < 4; i++) q[i] = vdotq_s32(vdotq_s32(q[i], w0.q[i], x0.v), w1.q[i], x1.v);
  }
  ANLLM_INLINE ByteDot Begin() const { return *this; }
  ANLLM_INLINE void End(const ByteDot& columns) { *this = columns; }
  ANLLM_INLINE I32 Total() const { return {{q[0], q[1], q[2], q[3]}}; }
};
using NibbleDot = ByteDot;
using SixBitDot = ByteDot;

}  // namespace anllm::ANLLM_ISA
