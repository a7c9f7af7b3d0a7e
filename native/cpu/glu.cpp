#include "matmul/blocks.h"
#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {
namespace {

F32 BiasOf(const float* bias, int64_t column, int lanes) {
  return bias == nullptr ? Zero() : LoadLanes(bias + column, lanes);
}

}  // namespace

void Glu(const GluOp& op, const Step& step) {
  const int64_t rows = CountRows(step, op.rows);
  if (rows == 0) return;
  Forms forms;
  AddForm(op.gate, op.planes, &forms);
  AddForm(op.up, op.planes, &forms);
  uint8_t* free = step.scratch;
  const Activations x = Prepare(op.input, rows, op.gate.cols, forms, step, &free);
  const Tiles gate_tiles = TilesFor(op.gate, op.planes);
  const Tiles up_tiles = TilesFor(op.up, op.planes);
  const int64_t cols = op.gate.rows;
  ForBlocks(step, CeilDivide(cols, kBlockRows), rows,
            [&](int64_t first, int64_t last, int64_t first_row, int64_t last_row) {
              for (int64_t block = first; block < last; block++) {
                const int64_t column = block * kBlockRows;
                const int lanes = static_cast<int>(Smaller(kBlockRows, cols - column));
                const F32 gate_bias = BiasOf(op.gate_bias, column, lanes);
                const F32 up_bias = BiasOf(op.up_bias, column, lanes);
                int m = 0;
                for (int64_t row = first_row; row < last_row; row += m) {
                  m = TileRows(rows - row);
                  alignas(64) float gate[kTileRows * 16];
                  alignas(64) float up[kTileRows * 16];
                  Multiply(gate_tiles, op.gate, block, x, row, m, gate);
                  Multiply(up_tiles, op.up, block, x, row, m, up);
                  for (int i = 0; i < m; i++) {
                    const F32 y = GatedActivation(op.activation, Load(gate + 16 * i) + gate_bias,
                                                  Load(up + 16 * i) + up_bias);
                    StoreLanes(op.out + (row + i) * cols + column, y, lanes);
                  }
                }
              }
            });
}

}  // namespace anllm::ANLLM_ISA
