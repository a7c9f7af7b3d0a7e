#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {

void Scale(const ScaleOp& op, const Step& step) {
  ForRows(step, CountRows(step, op.rows), op.cols, [&](int64_t first, int64_t last, int) {
    const int64_t start = first * op.cols;
    ForVectors((last - first) * op.cols, [&](int64_t i, int lanes) {
      const F32 scaled = LoadLanes(op.x + start + i, lanes) * Set(op.factor);
      StoreLanes(op.out + start + i, Softcap(scaled, op.softcap), lanes);
    });
  });
}

}  // namespace anllm::ANLLM_ISA
