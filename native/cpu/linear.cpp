#include "matmul/blocks.h"
#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {
namespace {

/** Rows [first, last) of block `block` of one part; `column` is where the part begins in a row of out. */
void MultiplyBlock(const LinearOp& op, const LinearPart& part, const Tiles& tiles, int64_t column,
                   int64_t block, const Activations& x, int64_t first, int64_t last) {
  const int64_t row_in_part = block * kBlockRows;
  const int lanes = static_cast<int>(Smaller(kBlockRows, part.weight.rows - row_in_part));
  const F32 bias = part.bias == nullptr ? Zero() : LoadLanes(part.bias + row_in_part, lanes);
  int m = 0;
  for (int64_t row = first; row < last; row += m) {
    m = TileRows(x.rows - row);
    alignas(64) float sums[kTileRows * 16];
    Multiply(tiles, part.weight, block, x, row, m, sums);
    for (int i = 0; i < m; i++) {
      const int64_t at = (row + i) * op.out_cols + column + row_in_part;
      F32 y = Load(sums + 16 * i);
      if (part.bias != nullptr) y = y + bias;
      if (op.factor != 1.0f) y = y * Set(op.factor);
      if (op.activation != Activation::kIdentity) y = ActivationOf(op.activation, y);
      if (op.residual != nullptr) y = y + LoadLanes(op.residual + at, lanes);
      StoreLanes(op.out + at, y, lanes);
    }
  }
}

}  // namespace

void Linear(const LinearOp& op, const Step& step) {
  const int64_t rows = CountRows(step, op.rows);
  if (rows == 0) return;
  Forms forms;
  int64_t blocks = 0;
  for (int64_t i = 0; i < op.num_parts; i++) {
    AddForm(op.parts[i].weight, op.planes, &forms);
    blocks += CeilDivide(op.parts[i].weight.rows, kBlockRows);
  }
  uint8_t* free = step.scratch;
  const Activations x = Prepare(op.input, rows, op.parts[0].weight.cols, forms, step, &free);
  ForBlocks(step, blocks, rows, [&](int64_t first, int64_t last, int64_t first_row, int64_t last_row) {
    // The blocks of all parts stand in one line; `start` is where a part's begin.
    int64_t start = 0;
    int64_t column = 0;
    for (int64_t i = 0; i < op.num_parts && start < last; i++) {
      const LinearPart& part = op.parts[i];
      const int64_t end = start + CeilDivide(part.weight.rows, kBlockRows);
      const Tiles tiles = TilesFor(part.weight, op.planes);
      for (int64_t block = Larger(first, start); block < Smaller(last, end); block++) {
        MultiplyBlock(op, part, tiles, column, block - start, x, first_row, last_row);
      }
      start = end;
      column += part.weight.rows;
    }
  });
}

}  // namespace anllm::ANLLM_ISA
