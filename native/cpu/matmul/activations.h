/** The rows that a matrix product reads, prepared once per op. */
#pragma once

#include "../../kernels/kernels.h"
#include "../../kernels/scratch.h"
#include "../../simd/simd.h"

namespace anllm::ANLLM_ISA {

/**
 * Rows in tiles of kTileRows, then of halves of that down to one row. In a tile of m rows, quads of all rows
 * follow each other: codes [cols / 4][m][4], scales and sums [groups][m]. A tile begins where its first row
 * would.
 */
struct QuantizedRows {
  const int8_t* codes;
  const float* scales;
  const float* sums;  // scale * sum of the group's codes
};

struct Activations {
  const float* x;  // rows of `cols` columns, joined and normalised
  int64_t stride;  // columns from one row to the next
  int64_t rows;
  int64_t cols;
  QuantizedRows quantized[kNumGroupSizes];  // parallel to kGroupSizes
  /** What rounding to `quantized` left over, in as many bits again; null: nothing is kept of it. */
  const Activations* low;
};

ANLLM_INLINE int GroupSizeIndex(int64_t group_size) {
  int index = 0;
  while (kGroupSizes[index] < group_size) index++;
  return index;
}

/** Rows of the tile that begins at a row with `left` rows from there to the end. */
ANLLM_INLINE int TileRows(int64_t left) {
  int rows = kTileRows;
  while (rows > left) rows /= 2;
  return rows;
}

/** Which forms of the activations the weights of an op need. */
struct Forms {
  bool by_group_size[kNumGroupSizes] = {};
  int planes = 1;

  ANLLM_INLINE bool Any() const {
    bool any = false;
    for (const bool is_wanted : by_group_size) any |= is_wanted;
    return any;
  }
};

ANLLM_INLINE void AddForm(const Matrix& weight, int planes, Forms* forms) {
  if (planes == 0 || weight.coding == Coding::kFloats) return;
  forms->by_group_size[GroupSizeIndex(weight.group_size)] = true;
  forms->planes = planes;
}

/** Places the wanted forms of rows [rows, cols] at `*free`, which moves behind them. */
Activations PlaceForms(int64_t rows, int64_t cols, const Forms& forms, uint8_t** free);
/** Writes all wanted forms of row `row` + `i` of a tile of m rows that begins at `row`; x [cols]. */
void QuantizeRow(const float* x, int64_t row, int i, int m, const Forms& forms, const Activations& into);
/** Joins, normalises and quantizes, into memory at `*free`, which moves behind it. */
Activations Prepare(const MatmulInput& input, int64_t rows, int64_t cols, const Forms& forms,
                    const Step& step, uint8_t** free);

}  // namespace anllm::ANLLM_ISA
