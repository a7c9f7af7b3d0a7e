#include <string.h>

#include "ops.h"
#include "shared/kv_store.h"
#include "shared/rotate.h"

namespace anllm::ANLLM_ISA {
namespace {

void CopyFloats(float* to, const float* from, int64_t count) {
  memcpy(to, from, sizeof(float) * static_cast<size_t>(count));
}

}  // namespace

void LatentPrepare(const LatentPrepareOp& op, const Step& step) {
  const KvLayer& kv = op.kv;
  const int64_t own_dim = op.rope->start;
  const int64_t q_cols = kv.kv_heads * kv.key_dim;
  const int64_t kv_cols = kv.kv_heads * (own_dim + kv.value_dim);
  ForRows(step, step.tokens, q_cols + kv_cols, [&](int64_t first, int64_t last, int thread) {
    float* key = reinterpret_cast<float*>(step.thread_scratch + thread * step.thread_scratch_bytes);
    for (int64_t row = first; row < last; row++) {
      float* out = op.out + row * q_cols;
      CopyFloats(out, op.q.first + row * op.q.stride, q_cols);
      for (int64_t head = 0; head < kv.kv_heads; head++) RotateHead(*op.rope, row, out + head * kv.key_dim);

      // The end of the key is the same for every head.
      CopyFloats(key + own_dim, op.shared_key.first + row * op.shared_key.stride, kv.key_dim - own_dim);
      RotateHead(*op.rope, row, key);
      const KvSlot slot = SlotOfRow(step, row);
      const float* keys = op.kv_rows + row * kv_cols;
      const float* values = keys + kv.kv_heads * own_dim;
      for (int64_t head = 0; head < kv.kv_heads; head++) {
        CopyFloats(key, keys + head * own_dim, own_dim);
        StoreKey(kv, slot, head, key);
        StoreValue(kv, slot, head, values + head * kv.value_dim);
      }
    }
  });
}

}  // namespace anllm::ANLLM_ISA
