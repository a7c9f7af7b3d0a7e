#include "moe/assignment.h"
#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {
namespace {

/** One block of a panel's expert; out_of(row) is where a row's slot begins in out. */
template <class OutOf>
void MultiplyBlock(const MoeGluOp& op, const ExpertPanel& panel, int64_t block, const Activations& x,
                   OutOf out_of) {
  const ExpertSlice gate = SliceOf(op.gate, panel.expert);
  const ExpertSlice up = SliceOf(op.up, panel.expert);
  const Tiles gate_tiles = TilesFor(*gate.matrix, op.planes);
  const Tiles up_tiles = TilesFor(*up.matrix, op.planes);
  const BlockLanes lanes(gate, block);
  int m = 0;
  for (int64_t row = panel.first; row < panel.last; row += m) {
    m = TileRows(panel.last - row);
    alignas(64) float gates[kTileRows * 16];
    alignas(64) float ups[kTileRows * 16];
    Multiply(gate_tiles, *gate.matrix, block, x, row, m, gates);
    Multiply(up_tiles, *up.matrix, block, x, row, m, ups);
    for (int i = 0; i < m; i++) {
      const F32 y = GatedActivation(op.activation, lanes.Take(gates + 16 * i, gate.bias),
                                    lanes.Take(ups + 16 * i, up.bias));
      StoreLanes(out_of(row + i) + lanes.column, y, lanes.count);
    }
  }
}

}  // namespace

void MoeGlu(const MoeGluOp& op, const Step& step) {
  const int64_t cols = op.gate.matrices[0].cols;
  const bool has_shared = op.gate.shared.rows > 0;
  uint8_t* free = step.scratch;
  const Assignment assignment = AssignRows(op.route, step, op.experts, op.top_k, has_shared, &free);
  Forms shared_forms;
  if (has_shared) {
    AddForm(op.gate.shared, op.planes, &shared_forms);
    AddForm(op.up.shared, op.planes, &shared_forms);
  }
  const Activations rows = Prepare(op.input, step.tokens, cols, shared_forms, step, &free);
  Forms forms;
  bool has_floats = AddExpertForms(op.gate, op.experts, op.planes, &forms);
  has_floats |= AddExpertForms(op.up, op.experts, op.planes, &forms);
  const Activations x = GatherSlots(SlotRows{rows.x, rows.stride, 0, op.top_k, cols}, assignment, has_floats,
                                    forms, step, &free);
  ForPanels(step, assignment, op.gate, [&](const ExpertPanel& panel, int64_t first, int64_t last) {
    for (int64_t block = first; block < last; block++) {
      if (panel.expert == kSharedExpert) {
        MultiplyBlock(op, panel, block, rows,
                      [&](int64_t row) { return op.out + row * op.out_cols + op.top_k * op.gate.rows; });
      } else {
        MultiplyBlock(op, panel, block, x, [&](int64_t row) {
          const int64_t entry = assignment.entries[row];
          return op.out + entry / op.top_k * op.out_cols + entry % op.top_k * op.gate.rows;
        });
      }
    }
  });
}

}  // namespace anllm::ANLLM_ISA
