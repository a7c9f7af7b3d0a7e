#include "attention_prepare.h"

#include "../error.h"

namespace anllm::metal {
namespace {

uint32_t HeadStride(const NormOperand& norm, uint32_t head_dim) {
  return norm.weight.size > head_dim * sizeof(float) ? head_dim : 0;
}

void Check(const PrepareOperand& op, const KvLayerOperand& layer) {
  const bool has_both = op.q_norm.kind != NORM_NONE && op.k_norm.kind != NORM_NONE;
  const auto differ = [](const BufferView& a, const BufferView& b) {
    return (a.buffer == nullptr) != (b.buffer == nullptr);
  };
  if (has_both && (op.q_norm.kind != op.k_norm.kind || differ(op.q_norm.weight, op.k_norm.weight) ||
                   differ(op.q_norm.bias, op.k_norm.bias))) {
    throw Unsupported("[attention_prepare] the norms of queries and keys are of different kinds");
  }
  if (layer.key_dim != layer.value_dim || layer.key_dim > MAX_HEAD_DIM) {
    throw Unsupported("[attention_prepare] head dimensions " + std::to_string(layer.key_dim) + " and " +
                      std::to_string(layer.value_dim) + ": expected equal ones, at most " +
                      std::to_string(MAX_HEAD_DIM));
  }
}

}  // namespace

void DescribePrepare(const PrepareOperand& op, const KvLayerOperand& layer, Constants& constants) {
  Check(op, layer);
  const NormOperand& norm = op.q_norm.kind != NORM_NONE ? op.q_norm : op.k_norm;
  constants.x_type = op.qkv.type;
  constants.norm = norm.kind;
  constants.has_norm_weight = norm.weight.buffer != nullptr;
  constants.has_norm_bias = norm.bias.buffer != nullptr;
  constants.kv_type = layer.type;
  constants.rope = op.rope.kind;
  constants.has_q_norm = op.q_norm.kind != NORM_NONE;
  constants.has_k_norm = op.k_norm.kind != NORM_NONE;
}

AttentionPrepareParams PrepareParamsOf(const StepOperand& step, const PrepareOperand& op,
                                       const KvLayerOperand& layer) {
  return {.heads = op.heads,
          .kv_heads = layer.kv_heads,
          .head_dim = layer.key_dim,
          .qkv_stride = StrideOf(op.qkv, (op.heads + 2 * layer.kv_heads) * layer.key_dim),
          .pairs = op.rope.pairs,
          .rope_start = op.rope.start,
          .blocks_per_sequence = step.blocks_per_sequence,
          .q_norm_stride = HeadStride(op.q_norm, layer.key_dim),
          .k_norm_stride = HeadStride(op.k_norm, layer.key_dim),
          .is_whole_row = op.is_whole_row,
          .rope_scale = op.rope.scale,
          .q_eps = op.q_norm.eps,
          .k_eps = op.k_norm.eps,
          .q_offset = op.q_norm.offset,
          .k_offset = op.k_norm.offset};
}

void AttentionPrepare(Dispatcher& dispatcher, const StepOperand& step, const PrepareOperand& op,
                      const KvLayerOperand& layer, const Values& out) {
  constexpr uint32_t kSimdgroupsEach = 4;
  Constants constants{.out_type = out.type, .simdgroups = kSimdgroupsEach};
  DescribePrepare(op, layer, constants);
  const uint32_t units = op.heads + 2 * layer.kv_heads;
  dispatcher.Run(
      {"attention_prepare",
       constants,
       {DivideUp(units, kSimdgroupsEach), step.rows, 1},
       kSimdgroupsEach * kSimdWidth},
      {op.qkv.view, op.q_norm.weight, op.q_norm.bias, op.k_norm.weight, op.k_norm.bias, op.rope.frequencies,
       step.positions, step.sequence_of, step.block_tables, out.view, layer.keys, layer.values},
      PrepareParamsOf(step, op, layer));
}

}  // namespace anllm::metal
