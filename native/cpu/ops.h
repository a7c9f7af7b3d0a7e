/** The ops of this folder, one a file, compiled into a namespace of their own for each instruction set. */
#pragma once

#include "../kernels/kernels.h"

namespace anllm::ANLLM_ISA {

void Embed(const EmbedOp& op, const Step& step);
void RunNorm(const NormOp& op, const Step& step);
void Linear(const LinearOp& op, const Step& step);
void Glu(const GluOp& op, const Step& step);
void Activate(const ActivationOp& op, const Step& step);
void Rope(const RopeOp& op, const Step& step);
void KvWrite(const KvWriteOp& op, const Step& step);
void AttentionPrepare(const AttentionPrepareOp& op, const Step& step);
void LatentPrepare(const LatentPrepareOp& op, const Step& step);
void Attention(const AttentionOp& op, const Step& step);
void GatedDelta(const GatedDeltaOp& op, const Step& step);
void MoeRoute(const MoeRouteOp& op, const Step& step);
void MoeLinear(const MoeLinearOp& op, const Step& step);
void MoeGlu(const MoeGluOp& op, const Step& step);
void Add(const AddOp& op, const Step& step);
void Scale(const ScaleOp& op, const Step& step);
void GatherRows(const GatherRowsOp& op, const Step& step);
void Sample(const SampleOp& op, const Step& step);

}  // namespace anllm::ANLLM_ISA
