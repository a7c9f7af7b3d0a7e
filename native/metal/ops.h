/**
 * One function an op of extension/engine/core/program.ts: which kernel runs it, with which constants,
 * bindings and grid. They encode and never wait; the caller places barriers.
 */
#pragma once

#include "dispatcher.h"
#include "operands.h"

namespace anllm::metal {

void Embed(Dispatcher& dispatcher, const StepOperand& step, const Matrix& weight, float scale,
           const Values& out);

/** What follows a norm, both absent by default: times activation(gate), plus residual (float32 [rows,
 * columns]). */
struct NormEpilogue {
  Values gate;
  ActivationKind activation = ACTIVATION_NONE;
  BufferView residual;
};

void Normalize(Dispatcher& dispatcher, uint32_t rows, uint32_t columns, uint32_t groups, const Values& x,
               const NormOperand& norm, const Values& out, const NormEpilogue& epilogue = {});

ScratchBytes LinearScratchOf(const LinearOperand& op);

/**
 * linear and glu. One row: matrix-vector product; a few: simdgroup matrices; many: tiles. A join of more than
 * one row, a norm of many rows and a layer norm of a few run as dispatches of their own, and a split sum
 * takes one more.
 */
void Linear(Dispatcher& dispatcher, const LinearOperand& op, const Scratch& scratch);

/** `up.view.buffer` null: out = activation(gate). gate and up have one type. */
void Activate(Dispatcher& dispatcher, uint32_t count, ActivationKind activation, const Values& gate,
              const Values& up, const Values& out);

/** a and b have one type. */
void Add(Dispatcher& dispatcher, uint32_t count, const Values& a, const Values& b, const Values& out);

/** `softcap` 0: none. */
void Scale(Dispatcher& dispatcher, uint32_t count, float factor, float softcap, const Values& x,
           const Values& out);

void GatherRows(Dispatcher& dispatcher, uint32_t rows, uint32_t columns, const BufferView& indices,
                const Values& x, const Values& out);

void Rope(Dispatcher& dispatcher, const StepOperand& step, uint32_t heads, uint32_t head_dim,
          const RopeOperand& rope, const Values& x, const Values& out);

/** k, v and shared_key (absent: none; its stride is its columns) have one type. */
void KvWrite(Dispatcher& dispatcher, const StepOperand& step, const Values& k, const Values& v,
             const Values& shared_key, const KvLayerOperand& layer);

/** key_dim = value_dim = the head dimension. Throws Error unsupported for others. */
void AttentionPrepare(Dispatcher& dispatcher, const StepOperand& step, const PrepareOperand& op,
                      const KvLayerOperand& layer, const Values& out);

/** q, kv and shared_key have one type. */
void LatentPrepare(Dispatcher& dispatcher, const StepOperand& step, const LatentOperand& op,
                   const RopeOperand& rope, const KvLayerOperand& layer);

/** Bytes that Attention needs of scratch.parts. */
size_t AttentionScratchOf(const AttentionOperand& op, const AttentionWork& work, const KvLayerOperand& layer);

/**
 * Causal attention of q [T, heads * key_dim] over the cache; out [T, heads * value_dim]. Single rows take one
 * dispatch up to kOnePassKeys keys and two beyond, tiles take one. Throws Error unsupported for dimensions
 * that no kernel has.
 */
void Attention(Dispatcher& dispatcher, const StepOperand& step, const AttentionWork& work,
               const AttentionOperand& op, const KvLayerOperand& layer, const Scratch& scratch);

/** Whether `AttentionAppend` runs such a step. */
bool CanAppend(const StepOperand& step, const AttentionWork& work, const AttentionOperand& op,
               const KvLayerOperand& layer);

/**
 * AttentionPrepare and Attention with one dispatch less, for steps of one row a sequence; op.q is not used.
 * The result is that of the two.
 */
void AttentionAppend(Dispatcher& dispatcher, const StepOperand& step, const AttentionWork& work,
                     const PrepareOperand& prepare, const AttentionOperand& op, const KvLayerOperand& layer,
                     const Scratch& scratch);

ScratchBytes GatedDeltaScratchOf(const StateLayerOperand& layer, uint32_t rows);

/**
 * The recurrence: many rows of a sequence in chunks, few one after the other. Which of them depends on the
 * sequence alone. `scratch.normalized` holds the convolved inputs, float32 [T, channels].
 */
void GatedDelta(Dispatcher& dispatcher, const StepOperand& step, const GatedDeltaOperand& op,
                const StateLayerOperand& layer, const Scratch& scratch);

/** Throws Error unsupported for more experts than a threadgroup holds. */
void MoeRoute(Dispatcher& dispatcher, const MoeRouteOperand& op);

/** For all experts together; `op.shared` is memory of the caller. */
ScratchBytes ExpertsScratchOf(const ExpertsOperand& op);

/** moe_glu, and moe_linear in mode expand: few rows one after the other, many sorted by their experts. */
void MoeExpand(Dispatcher& dispatcher, const ExpertsOperand& op, const Scratch& scratch);

/** Tokens from rows of logits, float32 [R, stride]; ids int32 [R], -1 where logits are not numbers. */
void Sample(Dispatcher& dispatcher, const DrawOperand& op, const BufferView& logits, uint32_t stride,
            const BufferView& ids);

/** moe_linear in mode reduce. */
void MoeReduce(Dispatcher& dispatcher, const ExpertsOperand& op, const Scratch& scratch);

}  // namespace anllm::metal
