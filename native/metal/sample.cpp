#include "ops.h"

namespace anllm::metal {

void Sample(Dispatcher& dispatcher, const DrawOperand& op, const BufferView& logits, uint32_t stride,
            const BufferView& ids) {
  dispatcher.Run({"sample", {}, {1, op.count, 1}, SAMPLE_THREADS}, {logits, op.draws, op.masks, ids},
                 SampleParams{op.columns, stride, op.mask_words});
}

}  // namespace anllm::metal
