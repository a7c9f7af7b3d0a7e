#include <string.h>

#include "ops.h"
#include "shared/kv_store.h"

namespace anllm::ANLLM_ISA {

void KvWrite(const KvWriteOp& op, const Step& step) {
  const KvLayer& kv = op.kv;
  const int64_t own_dim = kv.key_dim - op.shared_cols;
  ForRows(step, step.tokens, kv.kv_heads * (kv.key_dim + kv.value_dim),
          [&](int64_t first, int64_t last, int thread) {
            float* joined =
                reinterpret_cast<float*>(step.thread_scratch + thread * step.thread_scratch_bytes);
            for (int64_t row = first; row < last; row++) {
              const KvSlot slot = SlotOfRow(step, row);
              if (op.shared_key != nullptr) {
                memcpy(joined + own_dim, op.shared_key + row * op.shared_cols,
                       sizeof(float) * static_cast<size_t>(op.shared_cols));
              }
              for (int64_t head = 0; head < kv.kv_heads; head++) {
                const float* key = op.k + (row * kv.kv_heads + head) * own_dim;
                if (op.shared_key != nullptr) {
                  memcpy(joined, key, sizeof(float) * static_cast<size_t>(own_dim));
                  key = joined;
                }
                StoreKey(kv, slot, head, key);
                StoreValue(kv, slot, head, op.v + (row * kv.kv_heads + head) * kv.value_dim);
              }
            }
          });
}

}  // namespace anllm::ANLLM_ISA
