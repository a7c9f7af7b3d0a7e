/** The table of one instruction set; compiled with the kernels, once for each set. */
#include "../ops.h"

namespace anllm::ANLLM_ISA {

#define ANLLM_NAME_OF(isa) ANLLM_QUOTE(isa)
#define ANLLM_QUOTE(isa) #isa

extern const Kernels kKernels;
const Kernels kKernels = {
    ANLLM_NAME_OF(ANLLM_ISA),
    Embed,
    RunNorm,
    Linear,
    Glu,
    Activate,
    Rope,
    KvWrite,
    AttentionPrepare,
    LatentPrepare,
    Attention,
    GatedDelta,
    MoeRoute,
    MoeLinear,
    MoeGlu,
    Add,
    Scale,
    GatherRows,
    Sample,
};

}  // namespace anllm::ANLLM_ISA
