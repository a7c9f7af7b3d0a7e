/**
 * int8 activations times unsigned weight codes. With w = code * s + b and x = q * sx in a group,
 * Σ w x = s * sx * Σ code * q + b * (sx * Σ q): integer sums inside a group, two float multiplications per
 * group and row. Of codes around a zero it is s * (sx * Σ code * q - zero * (sx * Σ q)).
 */
#include "codes.h"
#include "tiles.h"

namespace anllm::ANLLM_ISA {
namespace {

constexpr int64_t kPrefetchBytes = 2048;

/** Adds kColumns columns of M rows. */
template <class Codes, int kColumns, int M>
ANLLM_INLINE void AddColumns(const uint8_t* p, const int8_t* x, typename Codes::Dot (&dot)[M]) {
  typename Codes::Dot::Columns columns[M];
#pragma GCC unroll 8
  for (int m = 0; m < M; m++) columns[m] = dot[m].Begin();
#pragma GCC unroll 4
  for (int i = 0; i < kColumns / 8; i++, x += 8 * M) {
    // The hardware's own prefetching stops at page ends, and a step of few rows waits for memory.
    __builtin_prefetch(p + i * Codes::kBytes + kPrefetchBytes);
    typename Codes::Dot::Weights first, second;
    Codes::Load(p, i, &first, &second);
#pragma GCC unroll 8
    for (int m = 0; m < M; m++)
      columns[m].Add(first, BroadcastQuad(x + 4 * m), second, BroadcastQuad(x + 4 * (M + m)));
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; m++) dot[m].End(columns[m]);
}

/** kColumns: those that are summed by themselves; groups are multiples of it. */
template <class Codes, Float kScalar, int kColumns>
struct Quantized {
  template <int M>
  struct Kernel {
    static void Run(const Matrix& w, int64_t block, const Activations& x, int64_t row, float* out) {
      const QuantizedRows& rows = x.quantized[GroupSizeIndex(w.group_size)];
      const int64_t groups = w.cols / w.group_size;
      const uint8_t* p = w.data + block * w.block_bytes;
      const int8_t* codes = rows.codes + row * w.cols;
      const float* scales = rows.scales + row * groups;
      const float* sums = rows.sums + row * groups;
      F32 total[M];
#pragma GCC unroll 8
      for (int i = 0; i < M; i++) total[i] = Zero();
      for (int64_t g = 0; g < groups; g++, scales += M, sums += M) {
        typename Codes::Dot dot[M];
        for (int64_t column = 0; column < w.group_size;
             column += kColumns, p += kColumns / 8 * Codes::kBytes, codes += kColumns * M) {
          AddColumns<Codes, kColumns, M>(p, codes, dot);
        }
        const F32 scale = LoadScalars<kScalar>(p);
        p += kScalarsBytes<kScalar>;
        if constexpr (Codes::kZero > 0) {
#pragma GCC unroll 8
          for (int i = 0; i < M; i++) {
            const F32 excess = Set(-Codes::kZero * sums[i]);
            total[i] = MulAdd(MulAdd(ToFloat(dot[i].Total()), Set(scales[i]), excess), scale, total[i]);
          }
        } else {
          F32 bias = LoadScalars<kScalar>(p);
          p += kScalarsBytes<kScalar>;
          if constexpr (Codes::kOffset != 0.0f) bias = MulAdd(scale, Set(Codes::kOffset), bias);
#pragma GCC unroll 8
          for (int i = 0; i < M; i++) {
            total[i] = MulAdd(ToFloat(dot[i].Total()) * Set(scales[i]), scale, total[i]);
            total[i] = MulAdd(bias, Set(sums[i]), total[i]);
          }
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < M; i++) Store(out + 16 * i, total[i]);
    }
  };
};

template <class Codes, int kColumns>
Tiles ByScalar(Float scalar) {
  switch (scalar) {
    case Float::kF32:
      return MakeTiles<Quantized<Codes, Float::kF32, kColumns>::template Kernel>();
    case Float::kF16:
      return MakeTiles<Quantized<Codes, Float::kF16, kColumns>::template Kernel>();
    case Float::kBf16:
      break;
  }
  return MakeTiles<Quantized<Codes, Float::kBf16, kColumns>::template Kernel>();
}

}  // namespace

Tiles QuantizedTiles(const Matrix& w) {
  switch (w.coding) {
    case Coding::kBytes:
      return ByScalar<ByteCodes, 32>(w.scalar);
    case Coding::kE2m1:
      return ByScalar<E2m1Codes, 16>(w.scalar);
    case Coding::kSixBits:
      return ByScalar<SixBitCodes, 16>(w.scalar);
    case Coding::kNibbles:
    case Coding::kFloats:
      break;
  }
  return w.group_size < 32 ? ByScalar<NibbleCodes, 16>(w.scalar) : ByScalar<NibbleCodes, 32>(w.scalar);
}

}  // namespace anllm::ANLLM_ISA
