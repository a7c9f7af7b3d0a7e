#include <algorithm>

#include "../error.h"
#include "ops.h"

namespace anllm::metal {

void Normalize(Dispatcher& dispatcher, uint32_t rows, uint32_t columns, uint32_t groups, const Values& x,
               const NormOperand& norm, const Values& out, const NormEpilogue& epilogue) {
  const uint32_t size = columns / groups;
  const bool has_weight = norm.weight.buffer != nullptr;
  // Four elements a thread, so that one row's latency is short and many rows fill the GPU with few threads
  // each.
  const uint32_t simdgroups = std::clamp(DivideUp(size, 4 * kSimdWidth), 1u, 32u);
  const Constants constants{.x_type = x.type,
                            .out_type = out.type,
                            .norm = norm.kind,
                            .has_norm_weight = has_weight,
                            .has_norm_bias = norm.bias.buffer != nullptr,
                            .has_residual = epilogue.residual.buffer != nullptr,
                            .activation = epilogue.activation,
                            .simdgroups = simdgroups,
                            .has_gate = epilogue.gate.view.buffer != nullptr,
                            .gate_type = epilogue.gate.type};
  const auto weight_size = has_weight ? static_cast<uint32_t>(norm.weight.size / sizeof(float)) : size;
  const NormParams params{.size = size,
                          .groups = groups,
                          .weight_size = weight_size,
                          .x_stride = StrideOf(x, columns),
                          .x_column = x.column,
                          .gate_stride = StrideOf(epilogue.gate, columns),
                          .gate_column = epilogue.gate.column,
                          .eps = norm.eps,
                          .offset = norm.offset};
  dispatcher.Run({"norm", constants, {groups, rows, 1}, simdgroups * kSimdWidth},
                 {x.view, norm.weight, norm.bias, epilogue.gate.view, epilogue.residual, out.view}, params);
}

namespace {

uint32_t HeadStride(const NormOperand& norm, uint32_t head_dim) {
  return norm.weight.size > head_dim * sizeof(float) ? head_dim : 0;
}

}  // namespace

void AttentionPrepare(Dispatcher& dispatcher, const StepOperand& step, uint32_t heads,
                      const NormOperand& q_norm, const NormOperand& k_norm, bool is_whole_row,
                      const RopeOperand& rope, const Values& qkv, const KvLayerOperand& layer,
                      const Values& out) {
  const NormOperand& norm = q_norm.kind != NORM_NONE ? q_norm : k_norm;
  const bool has_both = q_norm.kind != NORM_NONE && k_norm.kind != NORM_NONE;
  const auto differ = [](const BufferView& a, const BufferView& b) {
    return (a.buffer == nullptr) != (b.buffer == nullptr);
  };
  if (has_both && (q_norm.kind != k_norm.kind || differ(q_norm.weight, k_norm.weight) ||
                   differ(q_norm.bias, k_norm.bias))) {
    throw Unsupported("[attention_prepare] the norms of queries and keys are of different kinds");
  }
  if (layer.key_dim != layer.value_dim || layer.key_dim > MAX_HEAD_DIM) {
    throw Unsupported("[attention_prepare] head dimensions " + std::to_string(layer.key_dim) + " and " +
                      std::to_string(layer.value_dim) + ": expected equal ones, at most " +
                      std::to_string(MAX_HEAD_DIM));
  }
  const uint32_t units = heads + 2 * layer.kv_heads;
  constexpr uint32_t kSimdgroupsEach = 4;
  const Constants constants{.x_type = qkv.type,
                            .out_type = out.type,
                            .norm = norm.kind,
                            .has_norm_weight = norm.weight.buffer != nullptr,
                            .has_norm_bias = norm.bias.buffer != nullptr,
                            .simdgroups = kSimdgroupsEach,
                            .kv_type = layer.type,
                            .rope = rope.kind,
                            .has_q_norm = q_norm.kind != NORM_NONE,
                            .has_k_norm = k_norm.kind != NORM_NONE};
  const AttentionPrepareParams params{.heads = heads,
                                      .kv_heads = layer.kv_heads,
                                      .head_dim = layer.key_dim,
                                      .qkv_stride = StrideOf(qkv, units * layer.key_dim),
                                      .pairs = rope.pairs,
                                      .rope_start = rope.start,
                                      .blocks_per_sequence = step.blocks_per_sequence,
                                      .q_norm_stride = HeadStride(q_norm, layer.key_dim),
                                      .k_norm_stride = HeadStride(k_norm, layer.key_dim),
                                      .is_whole_row = is_whole_row,
                                      .rope_scale = rope.scale,
                                      .q_eps = q_norm.eps,
                                      .k_eps = k_norm.eps,
                                      .q_offset = q_norm.offset,
                                      .k_offset = k_norm.offset};
  dispatcher.Run({"attention_prepare",
                  constants,
                  {DivideUp(units, kSimdgroupsEach), step.rows, 1},
                  kSimdgroupsEach * kSimdWidth},
                 {qkv.view, q_norm.weight, q_norm.bias, k_norm.weight, k_norm.bias, rope.frequencies,
                  step.positions, step.sequence_of, step.block_tables, out.view, layer.keys, layer.values},
                 params);
}

}  // namespace anllm::metal
