#include "bind.h"

#include <algorithm>

#include "../kernels/scratch.h"
#include "scratch_sizes.h"

namespace anllm::program {
namespace {

class Binder {
 public:
  Binder(const Program& program, const weights::LoadedWeights& weights, const KvPool& kv,
         const StatePool& states, const Plan& plan, const Modes& modes, BoundProgram* bound)
      : program_(program),
        weights_(weights),
        kv_(kv),
        states_(states),
        plan_(plan),
        modes_(modes),
        bound_(*bound) {}

  BoundOp operator()(const Embed& i) const {
    return EmbedOp{MatrixOf(i.weight), Single(i.scale), Value(i.out)};
  }
  BoundOp operator()(const Normalize& i) const {
    return NormOp{Value(i.x),
                  Value(i.out),
                  RowsOf(i.x),
                  Cols(i.x),
                  i.groups,
                  NormOf(i.norm),
                  i.gate ? View(i.gate->columns) : ColumnsView{},
                  i.gate ? i.gate->activation : Activation::kIdentity,
                  ValueOrNull(i.residual)};
  }
  BoundOp operator()(const Linear& i) const {
    std::vector<LinearPart> parts;
    for (size_t n = 0; n < i.weights.size(); n++)
      parts.push_back({MatrixOf(i.weights[n]), Vector(i.biases[n])});
    bound_.parts.push_back(std::move(parts));
    const std::vector<LinearPart>& kept = bound_.parts.back();
    return LinearOp{{Value(i.x) + i.column, Cols(i.x), JoinOrNull(i.join), NormOrNull(i.norm)},
                    ValueOrNull(i.residual),
                    Value(i.out),
                    RowsOf(i.x),
                    Cols(i.out),
                    kept.data(),
                    static_cast<int64_t>(kept.size()),
                    Single(i.factor),
                    i.activation,
                    modes_.planes};
  }
  BoundOp operator()(const Glu& i) const {
    return GluOp{{Value(i.x), Cols(i.x), JoinOrNull(i.join), NormOrNull(i.norm)},
                 Value(i.out),
                 RowsOf(i.x),
                 MatrixOf(i.gate),
                 MatrixOf(i.up),
                 Vector(i.gate_bias),
                 Vector(i.up_bias),
                 i.activation,
                 modes_.planes};
  }
  BoundOp operator()(const Activate& i) const {
    return ActivationOp{Value(i.gate),  ValueOrNull(i.up), Value(i.out),
                        RowsOf(i.gate), Cols(i.gate),      i.activation};
  }
  BoundOp operator()(const Rope& i) const {
    return RopeOp{Value(i.x), Value(i.out), i.heads, i.head_dim, bound_.ropes.Add(i.rope)};
  }
  BoundOp operator()(const KvWrite& i) const {
    return KvWriteOp{Value(i.k), Value(i.v), ValueOrNull(i.shared_key),
                     i.shared_key == kNone ? 0 : Cols(i.shared_key), Layer(i.layer)};
  }
  BoundOp operator()(const AttentionPrepare& i) const {
    return AttentionPrepareOp{Value(i.qkv),
                              Cols(i.qkv),
                              Value(i.out),
                              i.heads,
                              i.head_dim,
                              NormOrNull(i.q_norm),
                              NormOrNull(i.k_norm),
                              i.whole_row_norm,
                              i.rope ? bound_.ropes.Add(*i.rope) : nullptr,
                              Layer(i.layer)};
  }
  BoundOp operator()(const LatentPrepare& i) const {
    return LatentPrepareOp{
        View(i.q), Value(i.kv), View(i.shared_key), Value(i.out), bound_.ropes.Add(i.rope), Layer(i.layer)};
  }
  BoundOp operator()(const Attention& i) const {
    return AttentionOp{Value(i.q),
                       Value(i.out),
                       i.heads,
                       Layer(i.layer),
                       Single(i.scale),
                       i.window,
                       Single(i.softcap),
                       Vector(i.sinks),
                       i.gate ? View(*i.gate) : ColumnsView{},
                       modes_.decode_attention};
  }
  BoundOp operator()(const GatedDelta& i) const {
    return GatedDeltaOp{Value(i.x),
                        Cols(i.x),
                        Vector(i.conv),
                        Vector(i.decay),
                        Vector(i.time_bias),
                        Value(i.out),
                        states_.layers()[Slot(i.layer)]};
  }
  BoundOp operator()(const MoeRoute& i) const {
    return MoeRouteOp{{Value(i.x), Cols(i.x), nullptr, NormOrNull(i.norm)},
                      MatrixOf(i.router),
                      Vector(i.bias),
                      Vector(i.correction),
                      MatrixOrEmpty(i.shared_gate),
                      i.routing,
                      Value(i.out)};
  }
  BoundOp operator()(const MoeLinear& i) const {
    return MoeLinearOp{Value(i.x),
                       Cols(i.x),
                       Value(i.route),
                       i.experts,
                       i.top_k,
                       i.reduce,
                       Experts(i.weights, i.experts, i.bias, i.shared),
                       ValueOrNull(i.residual),
                       Value(i.out),
                       Cols(i.out),
                       modes_.planes};
  }
  BoundOp operator()(const MoeGlu& i) const {
    return MoeGluOp{{Value(i.x), Cols(i.x), nullptr, NormOrNull(i.norm)},
                    Value(i.route),
                    i.experts,
                    i.top_k,
                    Experts(i.gate, i.experts, i.gate_bias, i.shared_gate),
                    Experts(i.up, i.experts, i.up_bias, i.shared_up),
                    i.activation,
                    Value(i.out),
                    Cols(i.out),
                    modes_.planes};
  }
  BoundOp operator()(const Add& i) const {
    return AddOp{Value(i.a), Value(i.b), Value(i.out), RowsOf(i.a), Cols(i.a)};
  }
  BoundOp operator()(const Scale& i) const {
    return ScaleOp{Value(i.x), Value(i.out), RowsOf(i.x), Cols(i.x), Single(i.factor), Single(i.softcap)};
  }
  BoundOp operator()(const GatherRows& i) const { return GatherRowsOp{Value(i.x), Value(i.out), Cols(i.x)}; }

 private:
  static size_t Slot(int64_t id) { return static_cast<size_t>(id); }
  static float Single(double x) { return static_cast<float>(x); }

  float* Value(ValueId id) const {
    return reinterpret_cast<float*>(bound_.arena.data() + plan_.offsets[Slot(id)]);
  }
  float* ValueOrNull(ValueId id) const { return id == kNone ? nullptr : Value(id); }
  ColumnsView View(Columns columns) const {
    return {Value(columns.value) + columns.column, Cols(columns.value)};
  }
  Rows RowsOf(ValueId id) const { return program_.values[Slot(id)].rows; }
  int64_t Cols(ValueId id) const { return program_.values[Slot(id)].cols; }
  const Matrix& MatrixOf(WeightId id) const { return weights_.matrices[Slot(id)]; }
  Matrix MatrixOrEmpty(WeightId id) const { return id == kNone ? Matrix{} : MatrixOf(id); }
  ExpertWeights Experts(const std::vector<WeightId>& ids, int64_t experts, WeightId bias,
                        WeightId shared) const {
    std::vector<Matrix> matrices;
    for (WeightId id : ids) matrices.push_back(MatrixOf(id));
    const int64_t per_matrix = experts / static_cast<int64_t>(ids.size());
    const int64_t rows = matrices[0].rows / per_matrix;
    bound_.experts.push_back(std::move(matrices));
    return {bound_.experts.back().data(), per_matrix, rows, Vector(bias), MatrixOrEmpty(shared)};
  }
  const float* Vector(WeightId id) const { return id == kNone ? nullptr : weights_.vectors[Slot(id)].data(); }
  const KvLayer& Layer(int64_t layer) const { return kv_.layers()[Slot(layer)]; }

  Norm NormOf(const NormSpec& spec) const {
    const WeightId sized = spec.weight != kNone ? spec.weight : spec.bias;
    const int64_t size = sized == kNone ? 0 : program_.weights[Slot(sized)].cols;
    return {spec.is_layer_norm, Vector(spec.weight), Vector(spec.bias), size,
            Single(spec.eps),   Single(spec.offset)};
  }
  const Norm* NormOrNull(const std::optional<NormSpec>& spec) const {
    if (!spec) return nullptr;
    bound_.norms.push_back(NormOf(*spec));
    return &bound_.norms.back();
  }
  const Join* JoinOrNull(const std::optional<JoinSpec>& spec) const {
    if (!spec) return nullptr;
    bound_.joins.push_back({Value(spec->residual), NormOf(spec->norm), Value(spec->sum)});
    return &bound_.joins.back();
  }

  const Program& program_;
  const weights::LoadedWeights& weights_;
  const KvPool& kv_;
  const StatePool& states_;
  const Plan& plan_;
  const Modes modes_;
  BoundProgram& bound_;
};

}  // namespace

BoundProgram Bind(const Program& program, const weights::LoadedWeights& weights, const KvPool& kv,
                  const StatePool& states, const Limits& limits, const Modes& modes, int threads) {
  const Plan plan = PlanMemory(program, limits);
  BoundProgram bound{};
  // Sizes follow from the ops, and the ops' addresses from the arena: bound once without memory, then with
  // it.
  const auto bind_all = [&] {
    bound.ops.clear();
    bound.norms.clear();
    bound.joins.clear();
    bound.experts.clear();
    bound.parts.clear();
    const Binder binder(program, weights, kv, states, plan, modes, &bound);
    for (const Instruction& instruction : program.instructions)
      bound.ops.push_back(std::visit(binder, instruction));
  };
  bind_all();
  int64_t scratch = 0;
  for (const BoundOp& op : bound.ops) {
    scratch = std::max(scratch, ScratchBytes(op, limits));
    bound.thread_scratch_bytes = std::max(bound.thread_scratch_bytes, ThreadScratchBytes(op));
  }
  const int64_t ropes = Align64(bound.ropes.Bytes(limits.max_tokens));
  const int64_t bytes = plan.bytes + ropes + Align64(scratch) + threads * bound.thread_scratch_bytes;
  bound.arena = AlignedBuffer(static_cast<size_t>(bytes), "activations");
  uint8_t* free = bound.arena.data() + plan.bytes;
  bound.ropes.Place(free, limits.max_tokens);
  bound.scratch = free + ropes;
  bound.thread_scratch = bound.scratch + Align64(scratch);
  bind_all();
  const auto at = [&](ValueId id) {
    return reinterpret_cast<const float*>(bound.arena.data() + plan.offsets[static_cast<size_t>(id)]);
  };
  bound.logits = at(program.logits);
  if (program.hidden != kNone) {
    bound.hidden = at(program.hidden);
    bound.hidden_cols = program.values[static_cast<size_t>(program.hidden)].cols;
  }
  return bound;
}

}  // namespace anllm::program
