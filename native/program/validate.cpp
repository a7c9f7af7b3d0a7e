#include "validate.h"

#include "../error.h"
#include "../kernels/scratch.h"
#include "operands.h"

namespace anllm::program {
namespace {

/** Most columns of a value: rows times columns of any step stay far below 2^63. */
constexpr int64_t kMaxCols = int64_t{1} << 24;

class Validator {
 public:
  explicit Validator(const Program& program)
      : program_(program),
        is_written_(program.values.size(), false),
        routed_experts_(program.values.size(), 0) {}

  void Run() {
    for (const ValueSpec& value : program_.values)
      AtMost("[program] columns of a value", value.cols, kMaxCols);
    for (const KvLayerSpec& kv : program_.kv_layers) {
      AtMost("[program] columns of keys", kv.kv_heads * kv.key_dim, kMaxCols);
      AtMost("[program] columns of values", kv.kv_heads * kv.value_dim, kMaxCols);
    }
    for (const StateLayerSpec& state : program_.state_layers) {
      for (int64_t size : {state.key_heads * state.key_dim, state.value_heads * state.value_dim})
        AtMost("[program] columns of a state", size, kMaxCols);
      AtMost("[program] inputs of a state", state.taps * state.Channels(), kMaxCols);
      AtMost("[program] taps", state.taps, kMaxTaps);
      if (state.taps < 2) Fail("[program] taps: got 1, expected at least 2");
      Multiple("[program] valueHeads", state.value_heads, state.key_heads);
    }
    for (const WeightSpec& weight : program_.weights) {
      if (!weight.is_matrix) Equal("[program] rows of the vector " + weight.name, weight.rows, 1);
      AtMost("[program] columns of " + weight.name, weight.cols, kMaxCols);
      AtMost("[program] rows of " + weight.name, weight.rows, kMaxCols);
    }
    for (const Instruction& instruction : program_.instructions) {
      op_ = std::string("[") + NameOf(instruction) + "] ";
      for (ValueId id : InputsOf(instruction)) {
        Index(op_ + "value", id, program_.values.size());
        if (!is_written_[Slot(id)])
          Fail(op_ + "value " + std::to_string(id) + " is read before it is written");
      }
      for (ValueId out : OutputsOf(instruction)) {
        Index(op_ + "out", out, program_.values.size());
        if (is_written_[Slot(out)]) Fail(op_ + "value " + std::to_string(out) + " is written twice");
        is_written_[Slot(out)] = true;
      }
      std::visit([this](const auto& i) { Check(i); }, instruction);
    }
    Index("[program] logits", program_.logits, program_.values.size());
    if (!is_written_[Slot(program_.logits)]) Fail("[program] logits are never written");
    Equal("[program] columns of the logits", Cols(program_.logits), program_.vocab_size);
    if (Value(program_.logits).rows != Rows::kLogits) Fail("[program] logits: got rows T, expected R");
    if (program_.hidden == kNone) return;
    Index("[program] hidden", program_.hidden, program_.values.size());
    if (!is_written_[Slot(program_.hidden)]) Fail("[program] hidden is never written");
    if (Value(program_.hidden).rows != Rows::kTokens) Fail("[program] hidden: got rows R, expected T");
  }

 private:
  void Check(const Embed& i) {
    const WeightSpec& weight = Matrix("weight", i.weight);
    Equal(op_ + "rows of the weight", weight.rows, program_.vocab_size);
    Shape("out", i.out, Rows::kTokens, weight.cols);
  }

  void Check(const Normalize& i) {
    Shape("out", i.out, Value(i.x).rows, Cols(i.x));
    if (Cols(i.x) % i.groups != 0) {
      Fail(op_ + "groups: got " + std::to_string(i.groups) + ", expected a divisor of " +
           std::to_string(Cols(i.x)));
    }
    CheckNorm(i.norm, Cols(i.x) / i.groups, Cols(i.x));
    if (i.gate) {
      CheckColumns("gate", i.gate->columns, Value(i.x).rows, Cols(i.x));
      CheckElementwise(i.gate->activation);
    }
    if (i.residual != kNone) Shape("residual", i.residual, Value(i.x).rows, Cols(i.x));
  }

  void Check(const Linear& i) {
    if (i.weights.empty()) Fail(op_ + "weights: got none, expected at least one");
    Equal(op_ + "number of biases", Count(i.biases), Count(i.weights));
    const int64_t in = Matrix("weight", i.weights[0]).cols;
    CheckColumns("x", {i.x, i.column}, Value(i.x).rows, in);
    int64_t cols = 0;
    for (size_t n = 0; n < i.weights.size(); n++) {
      const WeightSpec& weight = Matrix("weight", i.weights[n]);
      Equal(op_ + "columns of " + weight.name, weight.cols, in);
      if (i.biases[n] != kNone) Vector("bias", i.biases[n], weight.rows);
      cols += weight.rows;
    }
    Shape("out", i.out, Value(i.x).rows, cols);
    if (i.residual != kNone) Shape("residual", i.residual, Value(i.x).rows, cols);
    CheckElementwise(i.activation);
    CheckPrologue(i.x, i.join, i.norm, in);
  }

  void Check(const Glu& i) {
    const WeightSpec& gate = Matrix("gate", i.gate);
    const WeightSpec& up = Matrix("up", i.up);
    Equal(op_ + "columns of the gate", gate.cols, Cols(i.x));
    Equal(op_ + "columns of up", up.cols, Cols(i.x));
    Equal(op_ + "rows of up", up.rows, gate.rows);
    Shape("out", i.out, Value(i.x).rows, gate.rows);
    if (i.gate_bias != kNone) Vector("gateBias", i.gate_bias, gate.rows);
    if (i.up_bias != kNone) Vector("upBias", i.up_bias, gate.rows);
    CheckPrologue(i.x, i.join, i.norm, gate.cols);
  }

  void Check(const Activate& i) {
    Shape("out", i.out, Value(i.gate).rows, Cols(i.gate));
    if (i.up == kNone) {
      CheckElementwise(i.activation);
    } else {
      Shape("up", i.up, Value(i.gate).rows, Cols(i.gate));
    }
  }

  void Check(const Rope& i) {
    Shape("x", i.x, Rows::kTokens, i.heads * i.head_dim);
    Shape("out", i.out, Rows::kTokens, i.heads * i.head_dim);
    CheckRope(i.rope, i.head_dim);
  }

  void Check(const KvWrite& i) {
    const KvLayerSpec& kv = Layer(i.layer);
    int64_t own_dim = kv.key_dim;
    if (i.shared_key != kNone) {
      const int64_t shared = Cols(i.shared_key);
      AtMost(op_ + "columns of sharedKey", shared, kv.key_dim - 1);
      Shape("sharedKey", i.shared_key, Rows::kTokens, shared);
      own_dim -= shared;
    }
    Shape("k", i.k, Rows::kTokens, kv.kv_heads * own_dim);
    Shape("v", i.v, Rows::kTokens, kv.kv_heads * kv.value_dim);
  }

  void Check(const AttentionPrepare& i) {
    const KvLayerSpec& kv = Layer(i.layer);
    Equal(op_ + "kvHeads", i.kv_heads, kv.kv_heads);
    Equal(op_ + "headDim", i.head_dim, kv.key_dim);
    Equal(op_ + "valueDim of the layer", kv.value_dim, kv.key_dim);
    CheckColumns("qkv", {i.qkv, 0}, Rows::kTokens, (i.heads + 2 * i.kv_heads) * i.head_dim);
    Shape("out", i.out, Rows::kTokens, i.heads * i.head_dim);
    const auto group = [&](int64_t heads) { return (i.whole_row_norm ? heads : 1) * i.head_dim; };
    if (i.q_norm) CheckNorm(*i.q_norm, group(i.heads), i.heads * i.head_dim);
    if (i.k_norm) CheckNorm(*i.k_norm, group(i.kv_heads), i.kv_heads * i.head_dim);
    if (i.rope) CheckRope(*i.rope, i.head_dim);
  }

  void Check(const LatentPrepare& i) {
    const KvLayerSpec& kv = Layer(i.layer);
    Equal(op_ + "heads", i.heads, kv.kv_heads);
    CheckRope(i.rope, kv.key_dim);
    Equal(op_ + "end of the rotated columns", i.rope.start + 2 * Count(i.rope.inverse_frequencies),
          kv.key_dim);
    CheckColumns("q", i.q, Rows::kTokens, i.heads * kv.key_dim);
    CheckColumns("sharedKey", i.shared_key, Rows::kTokens, kv.key_dim - i.rope.start);
    Shape("kv", i.kv, Rows::kTokens, i.heads * (i.rope.start + kv.value_dim));
    Shape("out", i.out, Rows::kTokens, i.heads * kv.key_dim);
  }

  void Check(const Attention& i) {
    const KvLayerSpec& kv = Layer(i.layer);
    Multiple(op_ + "heads", i.heads, kv.kv_heads);
    Shape("q", i.q, Rows::kTokens, i.heads * kv.key_dim);
    Shape("out", i.out, Rows::kTokens, i.heads * kv.value_dim);
    if (i.sinks != kNone) Vector("sinks", i.sinks, i.heads);
    if (i.gate) CheckColumns("gate", *i.gate, Rows::kTokens, i.heads * kv.value_dim);
  }

  void Check(const GatedDelta& i) {
    Index(op_ + "layer", i.layer, program_.state_layers.size());
    const StateLayerSpec& state = program_.state_layers[Slot(i.layer)];
    CheckColumns("x", {i.x, 0}, Rows::kTokens, state.Channels() + 2 * state.value_heads);
    Shape("out", i.out, Rows::kTokens, state.value_heads * state.value_dim);
    Vector("conv", i.conv, state.Channels() * state.taps);
    Vector("decay", i.decay, state.value_heads);
    Vector("timeBias", i.time_bias, state.value_heads);
  }

  void Check(const MoeRoute& i) {
    const Routing& routing = i.routing;
    const WeightSpec& router = Matrix("router", i.router);
    Shape("x", i.x, Rows::kTokens, router.cols);
    Shape("out", i.out, Rows::kTokens, 2 * routing.top_k + 1);
    Equal(op_ + "rows of the router", router.rows, routing.experts);
    AtMost(op_ + "topK", routing.top_k, routing.experts);
    if (routing.groups > 0) {
      Multiple(op_ + "experts", routing.experts, routing.groups);
      AtMost(op_ + "kept groups", routing.kept_groups, routing.groups);
      AtMost(op_ + "topK", routing.top_k, routing.experts / routing.groups * routing.kept_groups);
    }
    routed_experts_[Slot(i.out)] = routing.experts;
    if (i.bias != kNone) Vector("bias", i.bias, routing.experts);
    if (i.correction != kNone) Vector("correction", i.correction, routing.experts);
    if (i.shared_gate != kNone) {
      const WeightSpec& gate = Matrix("sharedGate", i.shared_gate);
      Equal(op_ + "rows of sharedGate", gate.rows, 1);
      Equal(op_ + "columns of sharedGate", gate.cols, router.cols);
    }
    if (i.norm) CheckNorm(*i.norm, router.cols, router.cols);
  }

  void Check(const MoeLinear& i) {
    const ExpertShape own = CheckExperts("weights", i.weights, i.experts, i.bias);
    const WeightSpec* shared = i.shared == kNone ? nullptr : &Matrix("shared", i.shared);
    CheckRouted(i.route, i.experts, i.top_k);
    const int64_t slot_cols = i.top_k * own.cols + (shared == nullptr ? 0 : shared->cols);
    const int64_t slot_rows = i.top_k * own.rows + (shared == nullptr ? 0 : shared->rows);
    Shape("x", i.x, Rows::kTokens, i.reduce ? slot_cols : own.cols);
    Shape("out", i.out, Rows::kTokens, i.reduce ? own.rows : slot_rows);
    if (shared != nullptr) {
      if (i.reduce) Equal(op_ + "rows of shared", shared->rows, own.rows);
      if (!i.reduce) Equal(op_ + "columns of shared", shared->cols, own.cols);
    }
    if (i.residual == kNone) return;
    if (!i.reduce) Fail(op_ + "residual: expected none in mode expand");
    Shape("residual", i.residual, Rows::kTokens, own.rows);
  }

  void Check(const MoeGlu& i) {
    const ExpertShape gate = CheckExperts("gate", i.gate, i.experts, i.gate_bias);
    const ExpertShape up = CheckExperts("up", i.up, i.experts, i.up_bias);
    CheckRouted(i.route, i.experts, i.top_k);
    Equal(op_ + "number of up weights", Count(i.up), Count(i.gate));
    Equal(op_ + "rows of up", up.rows, gate.rows);
    Equal(op_ + "columns of up", up.cols, gate.cols);
    int64_t cols = i.top_k * gate.rows;
    if ((i.shared_gate == kNone) != (i.shared_up == kNone))
      Fail(op_ + "sharedGate without sharedUp, or the reverse");
    if (i.shared_gate != kNone) {
      const WeightSpec& shared_gate = Matrix("sharedGate", i.shared_gate);
      const WeightSpec& shared_up = Matrix("sharedUp", i.shared_up);
      Equal(op_ + "columns of sharedGate", shared_gate.cols, gate.cols);
      Equal(op_ + "columns of sharedUp", shared_up.cols, gate.cols);
      Equal(op_ + "rows of sharedUp", shared_up.rows, shared_gate.rows);
      cols += shared_gate.rows;
    }
    Shape("x", i.x, Rows::kTokens, gate.cols);
    Shape("out", i.out, Rows::kTokens, cols);
    if (i.norm) CheckNorm(*i.norm, gate.cols, gate.cols);
  }

  void Check(const Add& i) {
    Shape("b", i.b, Value(i.a).rows, Cols(i.a));
    Shape("out", i.out, Value(i.a).rows, Cols(i.a));
  }

  void Check(const Scale& i) { Shape("out", i.out, Value(i.x).rows, Cols(i.x)); }

  void Check(const GatherRows& i) {
    Shape("x", i.x, Rows::kTokens, Cols(i.x));
    Shape("out", i.out, Rows::kLogits, Cols(i.x));
  }

  /** The weight of a norm covers one group or the whole row. */
  void CheckNorm(const NormSpec& norm, int64_t group, int64_t row) {
    if (norm.eps < 0) Fail(op_ + "eps: got " + std::to_string(norm.eps) + ", expected at least 0");
    int64_t size = kNone;
    for (WeightId id : {norm.weight, norm.bias}) {
      if (id == kNone) continue;
      Index(op_ + "norm weight", id, program_.weights.size());
      const int64_t cols = program_.weights[Slot(id)].cols;
      Vector("norm weight", id, cols == row ? row : group);
      if (size != kNone) Equal(op_ + "size of the norm's bias", cols, size);
      size = cols;
    }
  }

  void CheckRope(const RopeSpec& rope, int64_t head_dim) {
    AtMost(op_ + "end of the rotated columns", rope.start + 2 * Count(rope.inverse_frequencies), head_dim);
  }

  /** What a matrix product of `cols` columns does with x before. */
  void CheckPrologue(ValueId x, const std::optional<JoinSpec>& join, const std::optional<NormSpec>& norm,
                     int64_t cols) {
    if (join) {
      Shape("join residual", join->residual, Value(x).rows, cols);
      Shape("join sum", join->sum, Value(x).rows, cols);
      CheckNorm(join->norm, cols, cols);
    }
    if (norm) CheckNorm(*norm, cols, cols);
  }

  void CheckColumns(const char* what, Columns columns, Rows rows, int64_t cols) {
    if (Value(columns.value).rows != rows) Fail(op_ + what + ": expected other rows (T or R)");
    AtMost(op_ + "end of the columns of " + what, columns.column + cols, Cols(columns.value));
  }

  void CheckElementwise(Activation activation) {
    if (activation == Activation::kSwigluOai)
      Fail(op_ + "activation: swiglu_oai is a function of two values");
  }

  struct ExpertShape {
    int64_t rows;
    int64_t cols;
  };

  /** Weights that hold the rows of all experts, equally many each. */
  ExpertShape CheckExperts(const char* what, const std::vector<WeightId>& weights, int64_t experts,
                           WeightId bias) {
    if (weights.empty()) Fail(op_ + what + ": got none, expected at least one");
    Multiple(op_ + "experts", experts, Count(weights));
    const WeightSpec& first = Matrix(what, weights[0]);
    const int64_t per_weight = experts / Count(weights);
    Multiple(op_ + "rows of " + first.name, first.rows, per_weight);
    for (WeightId id : weights) {
      const WeightSpec& weight = Matrix(what, id);
      Equal(op_ + "rows of " + weight.name, weight.rows, first.rows);
      Equal(op_ + "columns of " + weight.name, weight.cols, first.cols);
    }
    const ExpertShape shape = {first.rows / per_weight, first.cols};
    if (bias != kNone) Vector("bias", bias, experts * shape.rows);
    return shape;
  }

  void CheckRouted(ValueId route, int64_t experts, int64_t top_k) {
    AtMost(op_ + "topK", top_k, experts);
    Shape("route", route, Rows::kTokens, 2 * top_k + 1);
    if (routed_experts_[Slot(route)] != experts) {
      Fail(op_ + "route: expected the result of a moe_route over " + std::to_string(experts) + " experts");
    }
  }

  const ValueSpec& Value(ValueId id) const { return program_.values[Slot(id)]; }
  int64_t Cols(ValueId id) const { return Value(id).cols; }

  const WeightSpec& Matrix(const char* what, WeightId id) const {
    Index(op_ + what, id, program_.weights.size());
    const WeightSpec& weight = program_.weights[Slot(id)];
    if (!weight.is_matrix) Fail(op_ + what + " " + weight.name + ": got a vector, expected a matrix");
    return weight;
  }

  void Vector(const char* what, WeightId id, int64_t cols) const {
    Index(op_ + what, id, program_.weights.size());
    const WeightSpec& weight = program_.weights[Slot(id)];
    if (weight.is_matrix) Fail(op_ + what + " " + weight.name + ": got a matrix, expected a vector");
    Equal(op_ + "size of the " + what + " " + weight.name, weight.cols, cols);
  }

  const KvLayerSpec& Layer(int64_t layer) const {
    Index(op_ + "layer", layer, program_.kv_layers.size());
    return program_.kv_layers[Slot(layer)];
  }

  void Shape(const char* what, ValueId id, Rows rows, int64_t cols) const {
    const char* names[] = {"T", "R"};
    const auto text = [&](Rows r, int64_t c) {
      return std::string("[") + names[static_cast<int>(r)] + ", " + std::to_string(c) + "]";
    };
    const ValueSpec& value = Value(id);
    if (value.rows != rows || value.cols != cols) {
      Fail(op_ + what + ": got " + text(value.rows, value.cols) + ", expected " + text(rows, cols));
    }
  }

  static size_t Slot(int64_t id) { return static_cast<size_t>(id); }
  template <class Items>
  static int64_t Count(const Items& items) {
    return static_cast<int64_t>(items.size());
  }

  [[noreturn]] static void Fail(const std::string& message) { throw Error("internal", message); }
  static void Equal(const std::string& what, int64_t got, int64_t expected) {
    if (got != expected)
      Fail(what + ": got " + std::to_string(got) + ", expected " + std::to_string(expected));
  }
  static void Multiple(const std::string& what, int64_t got, int64_t of) {
    if (got % of != 0)
      Fail(what + ": got " + std::to_string(got) + ", expected a multiple of " + std::to_string(of));
  }
  static void AtMost(const std::string& what, int64_t got, int64_t limit) {
    if (got > limit)
      Fail(what + ": got " + std::to_string(got) + ", expected at most " + std::to_string(limit));
  }
  static void Index(const std::string& what, int64_t got, size_t count) {
    if (got < 0 || Slot(got) >= count) {
      Fail(what + ": got " + std::to_string(got) + ", expected an index below " + std::to_string(count));
    }
  }

  const Program& program_;
  std::vector<bool> is_written_;
  /** For each value that a moe_route wrote, how many experts it chooses from; 0 for all others. */
  std::vector<int64_t> routed_experts_;
  std::string op_;
};

}  // namespace

void Validate(const Program& program) {
  Validator(program).Run();
}

}  // namespace anllm::program
