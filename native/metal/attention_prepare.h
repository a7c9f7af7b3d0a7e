/** What the two kernels that prepare queries, keys and values share. */
#pragma once

#include "ops.h"

namespace anllm::metal {

/** Sets the function constants of metal/prepare.h. Throws Error unsupported. */
void DescribePrepare(const PrepareOperand& op, const KvLayerOperand& layer, Constants& constants);

AttentionPrepareParams PrepareParamsOf(const StepOperand& step, const PrepareOperand& op,
                                       const KvLayerOperand& layer);

}  // namespace anllm::metal
