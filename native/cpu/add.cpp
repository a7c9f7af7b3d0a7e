#include "ops.h"
#include "shared/parallel.h"

namespace anllm::ANLLM_ISA {

void Add(const AddOp& op, const Step& step) {
  ForRows(step, CountRows(step, op.rows), op.cols, [&](int64_t first, int64_t last, int) {
    const int64_t start = first * op.cols;
    ForVectors((last - first) * op.cols, [&](int64_t i, int lanes) {
      const F32 sum = LoadLanes(op.a + start + i, lanes) + LoadLanes(op.b + start + i, lanes);
      StoreLanes(op.out + start + i, sum, lanes);
    });
  });
}

}  // namespace anllm::ANLLM_ISA
