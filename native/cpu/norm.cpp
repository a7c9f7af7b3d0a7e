#include "ops.h"
#include "shared/activate.h"
#include "shared/norm_row.h"

namespace anllm::ANLLM_ISA {
namespace {

/** out = out * activation(gate) + residual, each if given, of row `row`. */
void FinishRow(const NormOp& op, int64_t row, float* out) {
  const float* gate = op.gate.first == nullptr ? nullptr : op.gate.first + row * op.gate.stride;
  const float* residual = op.residual == nullptr ? nullptr : op.residual + row * op.cols;
  ForVectors(op.cols, [&](int64_t i, int lanes) {
    F32 y = LoadLanes(out + i, lanes);
    if (gate != nullptr) y = y * ActivationOf(op.gate_activation, LoadLanes(gate + i, lanes));
    if (residual != nullptr) y = y + LoadLanes(residual + i, lanes);
    StoreLanes(out + i, y, lanes);
  });
}

}  // namespace

void RunNorm(const NormOp& op, const Step& step) {
  const int64_t size = op.cols / op.groups;
  ForRows(step, CountRows(step, op.rows), op.cols, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) {
      for (int64_t group = 0; group < op.groups; group++) {
        const int64_t start = row * op.cols + group * size;
        NormalizeGroup(op.norm, op.x + start, size, group, op.out + start);
      }
      if (op.gate.first != nullptr || op.residual != nullptr) FinishRow(op, row, op.out + row * op.cols);
    }
  });
}

}  // namespace anllm::ANLLM_ISA
