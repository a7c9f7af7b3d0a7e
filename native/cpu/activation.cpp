#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {

void Activate(const ActivationOp& op, const Step& step) {
  ForRows(step, CountRows(step, op.rows), op.cols, [&](int64_t first, int64_t last, int) {
    const int64_t start = first * op.cols;
    ForVectors((last - first) * op.cols, [&](int64_t i, int lanes) {
      const F32 gate = LoadLanes(op.gate + start + i, lanes);
      const F32 y = op.up == nullptr
                        ? ActivationOf(op.activation, gate)
                        : GatedActivation(op.activation, gate, LoadLanes(op.up + start + i, lanes));
      StoreLanes(op.out + start + i, y, lanes);
    });
  });
}

}  // namespace anllm::ANLLM_ISA
