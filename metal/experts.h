/** What the kernels over experts share. */
#pragma once

#include "activate.h"
#include "matvec.h"

/** A tile for one row of x without a join; `first` is its first element. */
inline void begin_tile(thread Tile& tile, DEVICE(const uchar) x, uint first, DEVICE(const uchar) weight,
                       DEVICE(const uchar) scales, DEVICE(const uchar) biases, constant ExpertsParams& p) {
  tile.x = x;
  tile.first = first;
  tile.columns = p.columns;
  tile.is_aligned = (p.columns | p.x_stride) % 4 == 0;
  tile.weight = weight;
  tile.scales = scales;
  tile.biases = biases;
  tile.offset = p.offset;
  tile.writes_join = false;
  tile.squares = 0.0f;
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) tile.sums[r] = 0.0f;
}

/** Expert of a row's slot. */
inline uint expert_of(DEVICE(const float) route, uint row, uint slot, constant ExpertsParams& p) {
  return uint(route[row * (2 * p.top_k + 1) + slot]);
}
