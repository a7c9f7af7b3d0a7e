#include "ops.h"

namespace anllm::metal {

namespace {

Extent ElementGrid(uint32_t columns, uint32_t rows = 1) {
  return {DivideUp(columns, ELEMENT_THREADS), rows, 1};
}

/** Columns of a head in the kernels where a simdgroup takes a group of them. */
uint32_t WholeGroups(uint32_t dim) {
  return code_groups(dim) * CODE_GROUP;
}

}  // namespace

void Embed(Dispatcher& dispatcher, const StepOperand& step, const Matrix& weight, float scale,
           const Values& out) {
  Constants constants{.out_type = out.type};
  Describe(weight, constants);
  dispatcher.Run({"embed", constants, ElementGrid(weight.columns, step.rows), ELEMENT_THREADS},
                 {step.tokens, weight.data, weight.scales, weight.biases, out.view},
                 EmbedParams{weight.columns, scale});
}

void Activate(Dispatcher& dispatcher, uint32_t count, ActivationKind activation, const Values& gate,
              const Values& up, const Values& out) {
  const Constants constants{.x_type = gate.type,
                            .out_type = out.type,
                            .activation = activation,
                            .has_up = up.view.buffer != nullptr};
  dispatcher.Run({"activation", constants, ElementGrid(count), ELEMENT_THREADS},
                 {gate.view, up.view, out.view}, ElementParams{count});
}

void Add(Dispatcher& dispatcher, uint32_t count, const Values& a, const Values& b, const Values& out) {
  const Constants constants{.x_type = a.type, .out_type = out.type};
  dispatcher.Run({"add", constants, ElementGrid(count), ELEMENT_THREADS}, {a.view, b.view, out.view},
                 ElementParams{count});
}

void Scale(Dispatcher& dispatcher, uint32_t count, float factor, float softcap, const Values& x,
           const Values& out) {
  const Constants constants{.x_type = x.type, .out_type = out.type, .has_softcap = softcap != 0};
  dispatcher.Run({"scale", constants, ElementGrid(count), ELEMENT_THREADS}, {x.view, out.view},
                 ScaleParams{count, factor, softcap});
}

void GatherRows(Dispatcher& dispatcher, uint32_t rows, uint32_t columns, const BufferView& indices,
                const Values& x, const Values& out) {
  const Constants constants{.x_type = x.type, .out_type = out.type};
  dispatcher.Run({"gather_rows", constants, ElementGrid(columns, rows), ELEMENT_THREADS},
                 {x.view, indices, out.view}, GatherParams{columns});
}

void Rope(Dispatcher& dispatcher, const StepOperand& step, uint32_t heads, uint32_t head_dim,
          const RopeOperand& rope, const Values& x, const Values& out) {
  const Constants constants{.x_type = x.type, .out_type = out.type, .rope = rope.kind};
  dispatcher.Run({"rope", constants, ElementGrid(heads * head_dim, step.rows), ELEMENT_THREADS},
                 {x.view, rope.frequencies, step.positions, out.view},
                 RopeParams{heads, head_dim, rope.pairs, rope.start, rope.scale});
}

void KvWrite(Dispatcher& dispatcher, const StepOperand& step, const Values& k, const Values& v,
             const Values& shared_key, const KvLayerOperand& layer) {
  const Constants constants{.x_type = k.type, .kv_type = layer.type};
  const uint32_t columns = layer.kv_heads * (WholeGroups(layer.key_dim) + WholeGroups(layer.value_dim));
  dispatcher.Run({"kv_write", constants, ElementGrid(columns, step.rows), ELEMENT_THREADS},
                 {k.view, v.view, shared_key.view, step.positions, step.sequence_of, step.block_tables,
                  layer.keys, layer.values},
                 KvWriteParams{layer.kv_heads, layer.key_dim, layer.value_dim, shared_key.stride,
                               step.blocks_per_sequence});
}

void LatentPrepare(Dispatcher& dispatcher, const StepOperand& step, const LatentOperand& op,
                   const RopeOperand& rope, const KvLayerOperand& layer) {
  const Constants constants{
      .x_type = op.q.type, .out_type = op.out.type, .kv_type = layer.type, .rope = rope.kind};
  const LatentPrepareParams params{.heads = op.heads,
                                   .key_dim = layer.key_dim,
                                   .value_dim = layer.value_dim,
                                   .pairs = rope.pairs,
                                   .rope_start = rope.start,
                                   .q_stride = StrideOf(op.q, op.heads * layer.key_dim),
                                   .q_column = op.q.column,
                                   .shared_stride = StrideOf(op.shared_key, layer.key_dim - rope.start),
                                   .shared_column = op.shared_key.column,
                                   .blocks_per_sequence = step.blocks_per_sequence,
                                   .rope_scale = rope.scale};
  const uint32_t columns = op.heads * (2 * WholeGroups(layer.key_dim) + WholeGroups(layer.value_dim));
  dispatcher.Run({"latent_prepare", constants, ElementGrid(columns, step.rows), ELEMENT_THREADS},
                 {op.q.view, op.kv.view, op.shared_key.view, rope.frequencies, step.positions,
                  step.sequence_of, step.block_tables, op.out.view, layer.keys, layer.values},
                 params);
}

}  // namespace anllm::metal
