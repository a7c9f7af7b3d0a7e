#include <string.h>

#include "ops.h"
#include "shared/rotate.h"

namespace anllm::ANLLM_ISA {

void Rope(const RopeOp& op, const Step& step) {
  const int64_t cols = op.heads * op.head_dim;
  ForRows(step, step.tokens, cols, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) {
      memcpy(op.out + row * cols, op.x + row * cols, sizeof(float) * static_cast<size_t>(cols));
      for (int64_t head = 0; head < op.heads; head++) {
        RotateHead(*op.rope, row, op.out + row * cols + head * op.head_dim);
      }
    }
  });
}

}  // namespace anllm::ANLLM_ISA
