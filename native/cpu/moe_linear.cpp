#include "moe/assignment.h"
#include "ops.h"

namespace anllm::ANLLM_ISA {
namespace {

/** One block of a panel's expert; out_of(row) is where the row's result goes. */
template <class OutOf>
void MultiplyBlock(const MoeLinearOp& op, const ExpertPanel& panel, int64_t block, const Activations& x,
                   OutOf out_of) {
  const ExpertSlice slice = SliceOf(op.weights, panel.expert);
  const Tiles tiles = TilesFor(*slice.matrix, op.planes);
  const BlockLanes lanes(slice, block);
  int m = 0;
  for (int64_t row = panel.first; row < panel.last; row += m) {
    m = TileRows(panel.last - row);
    alignas(64) float sums[kTileRows * 16];
    Multiply(tiles, *slice.matrix, block, x, row, m, sums);
    for (int i = 0; i < m; i++) {
      StoreLanes(out_of(row + i) + lanes.column, lanes.Take(sums + 16 * i, slice.bias), lanes.count);
    }
  }
}

/** The results of all slots of a row side by side: those of row r begin at first + r * stride. */
struct SlotResults {
  float* first;
  int64_t stride;
};

/** out = the weighted sum of each row's slots, in the order of the slots, plus the residual. */
void SumSlots(const MoeLinearOp& op, const SlotResults& results, const Step& step) {
  const int64_t slots = op.top_k + (op.weights.shared.rows > 0 ? 1 : 0);
  ForRows(step, step.tokens, results.stride, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) {
      const float* weights = op.route + row * (2 * op.top_k + 1) + op.top_k;
      const float* result = results.first + row * results.stride;
      ForVectors(op.out_cols, [&](int64_t i, int lanes) {
        F32 sum = Zero();
        for (int64_t slot = 0; slot < slots; slot++) {
          sum = MulAdd(Set(weights[slot]), LoadLanes(result + slot * op.out_cols + i, lanes), sum);
        }
        const int64_t at = row * op.out_cols + i;
        if (op.residual != nullptr) sum = sum + LoadLanes(op.residual + at, lanes);
        StoreLanes(op.out + at, sum, lanes);
      });
    }
  });
}

}  // namespace

void MoeLinear(const MoeLinearOp& op, const Step& step) {
  const int64_t cols = op.weights.matrices[0].cols;
  const Matrix& shared = op.weights.shared;
  const bool has_shared = shared.rows > 0;
  uint8_t* free = step.scratch;
  const Assignment assignment = AssignRows(op.route, step, op.experts, op.top_k, has_shared, &free);
  Activations shared_x{};
  if (has_shared) {
    Forms forms;
    AddForm(shared, op.planes, &forms);
    const MatmulInput input = {op.x + (op.reduce ? op.top_k * cols : 0), op.x_cols, nullptr, nullptr};
    shared_x = Prepare(input, step.tokens, shared.cols, forms, step, &free);
  }
  Forms forms;
  const bool has_floats = AddExpertForms(op.weights, op.experts, op.planes, &forms);
  const SlotRows rows = {op.x, op.x_cols, op.reduce ? cols : 0, op.top_k, cols};
  const Activations x = GatherSlots(rows, assignment, has_floats, forms, step, &free);

  SlotResults results = {op.out, op.out_cols};
  if (op.reduce) {
    results = {reinterpret_cast<float*>(free), (op.top_k + (has_shared ? 1 : 0)) * op.out_cols};
  }
  ForPanels(step, assignment, op.weights, [&](const ExpertPanel& panel, int64_t first, int64_t last) {
    for (int64_t block = first; block < last; block++) {
      if (panel.expert == kSharedExpert) {
        MultiplyBlock(op, panel, block, shared_x, [&](int64_t row) {
          return results.first + row * results.stride + op.top_k * op.weights.rows;
        });
      } else {
        MultiplyBlock(op, panel, block, x, [&](int64_t row) {
          const int64_t entry = assignment.entries[row];
          return results.first + entry / op.top_k * results.stride + entry % op.top_k * op.weights.rows;
        });
      }
    }
  });
  if (op.reduce) SumSlots(op, results, step);
}

}  // namespace anllm::ANLLM_ISA
