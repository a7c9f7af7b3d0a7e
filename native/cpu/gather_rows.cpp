#include <string.h>

#include "ops.h"
#include "shared/parallel.h"

namespace anllm::ANLLM_ISA {

void GatherRows(const GatherRowsOp& op, const Step& step) {
  for (int64_t r = 0; r < step.logit_rows; r++) {
    memcpy(op.out + r * op.cols, op.x + step.gathered_rows[r] * op.cols,
           sizeof(float) * static_cast<size_t>(op.cols));
  }
}

}  // namespace anllm::ANLLM_ISA
