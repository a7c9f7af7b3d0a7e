#include <string.h>

#include "ops.h"
#include "shared/kv_store.h"
#include "shared/norm_row.h"
#include "shared/rotate.h"

namespace anllm::ANLLM_ISA {
namespace {

/** out = rope(norm(x)) of `heads` heads of one row. */
void PrepareHeads(const AttentionPrepareOp& op, const Norm* norm, int64_t row, int64_t heads, const float* x,
                  float* out) {
  const int64_t dim = op.head_dim;
  if (norm == nullptr) {
    memcpy(out, x, sizeof(float) * static_cast<size_t>(heads * dim));
  } else if (op.whole_row_norm) {
    NormalizeGroup(*norm, x, heads * dim, 0, out);
  } else {
    for (int64_t head = 0; head < heads; head++)
      NormalizeGroup(*norm, x + head * dim, dim, head, out + head * dim);
  }
  if (op.rope == nullptr) return;
  for (int64_t head = 0; head < heads; head++) RotateHead(*op.rope, row, out + head * dim);
}

}  // namespace

void AttentionPrepare(const AttentionPrepareOp& op, const Step& step) {
  const int64_t dim = op.head_dim;
  const int64_t cols = (op.heads + 2 * op.kv.kv_heads) * dim;
  ForRows(step, step.tokens, cols, [&](int64_t first, int64_t last, int thread) {
    float* prepared = reinterpret_cast<float*>(step.thread_scratch + thread * step.thread_scratch_bytes);
    for (int64_t row = first; row < last; row++) {
      const float* x = op.qkv + row * op.qkv_stride;
      PrepareHeads(op, op.q_norm, row, op.heads, x, op.out + row * op.heads * dim);
      const KvSlot slot = SlotOfRow(step, row);
      const float* keys = x + op.heads * dim;
      const float* values = keys + op.kv.kv_heads * dim;
      PrepareHeads(op, op.k_norm, row, op.kv.kv_heads, keys, prepared);
      for (int64_t head = 0; head < op.kv.kv_heads; head++) {
        StoreKey(op.kv, slot, head, prepared + head * dim);
        StoreValue(op.kv, slot, head, values + head * dim);
      }
    }
  });
}

}  // namespace anllm::ANLLM_ISA
