#include "matmul/decode_row.h"
#include "ops.h"
#include "shared/parallel.h"

namespace anllm::ANLLM_ISA {

void Embed(const EmbedOp& op, const Step& step) {
  const int64_t cols = op.weight.cols;
  ForRows(step, step.tokens, cols, [&](int64_t first, int64_t last, int) {
    for (int64_t t = first; t < last; t++) {
      float* out = op.out + t * cols;
      DecodeRow(op.weight, step.token_ids[t], out);
      ForVectors(cols, [&](int64_t i, int lanes) {
        StoreLanes(out + i, LoadLanes(out + i, lanes) * Set(op.scale), lanes);
      });
    }
  });
}

}  // namespace anllm::ANLLM_ISA
