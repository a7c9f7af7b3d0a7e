/** float32 activations times weights of any format, decoded in registers on the way. */
#include "../shared/parallel.h"
#include "codes.h"
#include "tiles.h"

namespace anllm::ANLLM_ISA {
namespace {

/** Columns whose products are summed by themselves before they join the row's sum; short sums round less. */
constexpr int64_t kPartialColumns = 64;

/**
 * A decoder gives kColumns columns of 16 weights at a time; `Begin` starts a run of columns that share a
 * scale.
 */
template <Float kScalar>
struct FloatDecoder {
  static constexpr int kColumns = 1;
  const uint8_t* p;
  ANLLM_INLINE static int64_t RunColumns(const Matrix&) { return kPartialColumns; }
  ANLLM_INLINE void Begin(int64_t) {}
  ANLLM_INLINE void End() {}
  ANLLM_INLINE void Next(F32 (&w)[kColumns]) {
    w[0] = LoadScalars<kScalar>(p);
    p += kScalarsBytes<kScalar>;
  }
};

template <Coding kCoding, Float kScalar>
struct CodeDecoder {
  static constexpr bool kIsNibbles = kCoding == Coding::kNibbles;
  static constexpr int kColumns = kIsNibbles ? 8 : 4;
  const uint8_t* p;
  F32 scale, bias;
  ANLLM_INLINE static int64_t RunColumns(const Matrix& w) { return w.group_size; }
  ANLLM_INLINE void Begin(int64_t columns) {
    const uint8_t* scalars = p + columns * 64 / kColumns;
    scale = LoadScalars<kScalar>(scalars);
    bias = LoadScalars<kScalar>(scalars + kScalarsBytes<kScalar>);
  }
  ANLLM_INLINE void End() { p += 2 * kScalarsBytes<kScalar>; }
  ANLLM_INLINE void Next(F32 (&w)[kColumns]) {
    const I32 codes = LoadInts(p);
    p += 64;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      w[i] = MulAdd(ToFloat(Bits(codes, 8 * i, kIsNibbles ? 15 : 255)), scale, bias);
      if constexpr (kIsNibbles) w[4 + i] = MulAdd(ToFloat(Bits(codes, 8 * i + 4, 15)), scale, bias);
    }
  }
};

/** Codes around a zero. */
template <class Codes, Float kScalar>
struct ZeroDecoder {
  static constexpr int kColumns = 8;
  /** 16 columns, and which half of them is next. */
  const uint8_t* p;
  int half = 0;
  F32 scale;
  ANLLM_INLINE static int64_t RunColumns(const Matrix& w) { return w.group_size; }
  ANLLM_INLINE void Begin(int64_t columns) { scale = LoadScalars<kScalar>(p + columns / 8 * Codes::kBytes); }
  ANLLM_INLINE void End() { p += kScalarsBytes<kScalar>; }
  ANLLM_INLINE F32 Weight(I32 codes, int k) {
    return (ToFloat(Bits(codes, 8 * k, 255)) - Set(Codes::kZero)) * scale;
  }
  ANLLM_INLINE void Next(F32 (&w)[kColumns]) {
    typename Codes::Dot::Weights first, second;
    Codes::Load(p, half, &first, &second);
    half ^= 1;
    if (half == 0) p += 2 * Codes::kBytes;
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
      w[k] = Weight(IntsOf(first), k);
      w[4 + k] = Weight(IntsOf(second), k);
    }
  }
};

template <class Decoder>
struct Floats {
  template <int M>
  struct Kernel {
    static void Run(const Matrix& w, int64_t block, const Activations& x, int64_t row, float* out) {
      Decoder decoder;
      decoder.p = w.data + block * w.block_bytes;
      const float* rows = x.x + row * x.stride;
      const int64_t run = Decoder::RunColumns(w);
      F32 total[M];
#pragma GCC unroll 8
      for (int i = 0; i < M; i++) total[i] = Zero();
      for (int64_t first = 0; first < w.cols; first += run) {
        const int64_t end = Smaller(w.cols, first + run);
        F32 part[M];
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) part[i] = Zero();
        decoder.Begin(end - first);
        for (int64_t column = first; column < end; column += Decoder::kColumns) {
          F32 weights[Decoder::kColumns];
          decoder.Next(weights);
#pragma GCC unroll 8
          for (int k = 0; k < Decoder::kColumns; k++) {
#pragma GCC unroll 8
            for (int i = 0; i < M; i++) {
              part[i] = MulAdd(weights[k], Set(rows[i * x.stride + column + k]), part[i]);
            }
          }
        }
        decoder.End();
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) total[i] = total[i] + part[i];
      }
#pragma GCC unroll 8
      for (int i = 0; i < M; i++) Store(out + 16 * i, total[i]);
    }
  };
};

template <Float kScalar>
Tiles ByCoding(Coding coding) {
  switch (coding) {
    case Coding::kFloats:
      return MakeTiles<Floats<FloatDecoder<kScalar>>::template Kernel>();
    case Coding::kNibbles:
      return MakeTiles<Floats<CodeDecoder<Coding::kNibbles, kScalar>>::template Kernel>();
    case Coding::kE2m1:
      return MakeTiles<Floats<ZeroDecoder<E2m1Codes, kScalar>>::template Kernel>();
    case Coding::kSixBits:
      return MakeTiles<Floats<ZeroDecoder<SixBitCodes, kScalar>>::template Kernel>();
    case Coding::kBytes:
      break;
  }
  return MakeTiles<Floats<CodeDecoder<Coding::kBytes, kScalar>>::template Kernel>();
}

}  // namespace

Tiles FloatTiles(const Matrix& w) {
  switch (w.scalar) {
    case Float::kF32:
      return ByCoding<Float::kF32>(w.coding);
    case Float::kF16:
      return ByCoding<Float::kF16>(w.coding);
    case Float::kBf16:
      break;
  }
  return ByCoding<Float::kBf16>(w.coding);
}

}  // namespace anllm::ANLLM_ISA
