/** Products of a few activation rows with one block of 16 weight rows, all in registers. */
#pragma once

#include "activations.h"

namespace anllm::ANLLM_ISA {

/** out [m][16] = x[row + i] · w[block * 16 + j] for m rows. A row's sum does not depend on m. */
using Tile = void (*)(const Matrix& w, int64_t block, const Activations& x, int64_t row, float* out);

/** Tiles of one weight format, by the logarithm of their number of rows. */
struct Tiles {
  Tile tile[4];
};

constexpr int LogRows(int m) {
  return m == 8 ? 3 : m == 4 ? 2 : m == 2 ? 1 : 0;
}

/** The tiles for 1, 2, 4 … kTileRows rows of a kernel template. */
template <template <int M> class Kernel>
constexpr Tiles MakeTiles() {
  return {{Kernel<1>::Run, Kernel<2>::Run, kTileRows >= 4 ? Kernel < kTileRows >= 4 ? 4 : 1 > ::Run : nullptr,
           kTileRows >= 8 ? Kernel < kTileRows >= 8 ? 8 : 1 > ::Run : nullptr}};
}

Tiles QuantizedTiles(const Matrix& w);
Tiles FloatTiles(const Matrix& w);

inline Tiles TilesFor(const Matrix& w, int planes) {
  return planes > 0 && w.coding != Coding::kFloats ? QuantizedTiles(w) : FloatTiles(w);
}

/** sums [m][16] of one tile, over all planes of the activations. */
ANLLM_INLINE void Multiply(const Tiles& tiles, const Matrix& w, int64_t block, const Activations& x,
                           int64_t row, int m, float* sums) {
  const Tile tile = tiles.tile[LogRows(m)];
  tile(w, block, x, row, sums);
  if (x.low == nullptr || w.coding == Coding::kFloats) return;
  alignas(64) float low[kTileRows * 16];
  tile(w, block, *x.low, row, low);  // the weights are in the first level cache by now
  for (int i = 0; i < m; i++) Store(sums + 16 * i, Load(sums + 16 * i) + Load(low + 16 * i));
}

template <Float kType>
ANLLM_INLINE F32 LoadScalars(const uint8_t* p) {
  if constexpr (kType == Float::kF32) return Load(reinterpret_cast<const float*>(p));
  if constexpr (kType == Float::kF16) return LoadHalf(reinterpret_cast<const uint16_t*>(p));
  if constexpr (kType == Float::kBf16) return LoadBfloat(reinterpret_cast<const uint16_t*>(p));
}
/** Bytes of 16 scalars. */
template <Float kType>
constexpr int64_t kScalarsBytes = kType == Float::kF32 ? 64 : 32;

}  // namespace anllm::ANLLM_ISA
