/** Commands of matrix products: linear, glu and their forms over experts. */
#include <algorithm>

#include "../../aligned_buffer.h"
#include "../../error.h"
#include "binder.h"

namespace anllm::metal {
namespace {

using program::WeightId;

uint32_t Count(int64_t value) {
  return static_cast<uint32_t>(value);
}

int64_t Multiplies(const Matrix& weight) {
  return int64_t{weight.rows} * weight.columns;
}

std::vector<WeightId> Joined(const std::vector<WeightId>& a, const std::vector<WeightId>& b) {
  std::vector<WeightId> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

ScratchBytes Most(const ScratchBytes& a, const ScratchBytes& b) {
  return {std::max(a.normalized, b.normalized), std::max(a.parts, b.parts), std::max(a.products, b.products)};
}

/** Products that write neighbouring columns of one value: one dispatch each. */
Command ProductsCommand(Rows value_rows, std::vector<LinearOperand> parts) {
  Command command{.rows = value_rows};
  for (size_t n = 0; n < parts.size(); n++) {
    command.weight_bytes += BytesOf(parts[n].weight);
    command.multiplies += Multiplies(parts[n].weight);
    // The first one joins; the others read its sum.
    if (n == 0 || parts[n].join.norm.kind == NORM_NONE) continue;
    parts[n].x = {parts[n].join.sum, DTYPE_F32};
    parts[n].join = {};
  }
  command.scratch = [parts](uint32_t rows) {
    ScratchBytes bytes;
    for (LinearOperand op : parts) {
      op.rows = rows;
      bytes = Most(bytes, LinearScratchOf(op));
    }
    return bytes;
  };
  command.encode = [parts = std::move(parts)](const StepContext& c, uint32_t rows) {
    for (size_t n = 0; n < parts.size(); n++) {
      LinearOperand op = parts[n];
      op.rows = rows;
      if (n > 0) c.dispatcher.Barrier();  // of the scratch memory, and of a join's sum
      Linear(c.dispatcher, op, c.scratch);
    }
  };
  return command;
}

}  // namespace

Command Binder::operator()(const program::Linear& i) {
  std::vector<std::vector<WeightId>> groups;
  std::vector<std::vector<WeightId>> biases;
  // Neighbours that are coded alike are one product; GGUF files often have values with more bits than
  // queries.
  for (size_t n = 0; n < i.weights.size(); n++) {
    if (n == 0 || !weights_.AreAlike({i.weights[n - 1], i.weights[n]})) {
      groups.emplace_back();
      biases.emplace_back();
    }
    groups.back().push_back(i.weights[n]);
    biases.back().push_back(i.biases[n]);
  }
  const NormOperand norm = Norm(i.norm);
  const JoinOperand join = Join(i.join);
  std::vector<LinearOperand> parts;
  uint32_t column = 0;
  for (size_t n = 0; n < groups.size(); n++) {
    std::vector<int64_t> sizes;
    for (const WeightId id : groups[n]) sizes.push_back(WeightRows(id));
    LinearOperand part{.x = Value(i.x),
                       .weight = weights_.Rows(groups[n]),
                       .join = join,
                       .norm = norm,
                       .bias = weights_.Vectors(biases[n], sizes),
                       .residual = View(i.residual),
                       .out = Value(i.out),
                       .factor = static_cast<float>(i.factor),
                       .activation = static_cast<ActivationKind>(i.activation),
                       .is_fast = is_fast_};
    part.x.column = Count(i.column);
    part.out.column = column;
    part.outputs = part.weight.rows;
    column += part.outputs;
    parts.push_back(part);
  }
  return ProductsCommand(RowsOf(i.x), std::move(parts));
}

Command Binder::operator()(const program::Glu& i) {
  const int64_t rows = WeightRows(i.gate);
  if (!weights_.AreAlike({i.gate, i.up})) return UnlikeGlu(i);
  const LinearOperand op{.x = Value(i.x),
                         .weight = weights_.Rows({i.gate, i.up}),
                         .join = Join(i.join),
                         .norm = Norm(i.norm),
                         .bias = weights_.Vectors({i.gate_bias, i.up_bias}, {rows, rows}),
                         .out = Value(i.out),
                         .outputs = Count(rows),
                         .activation = static_cast<ActivationKind>(i.activation),
                         .is_glu = true,
                         .up_offset = Count(rows)};
  return ProductsCommand(RowsOf(i.x), {op});
}

/** Gate and up are coded unlike: two products, then the activation. */
Command Binder::UnlikeGlu(const program::Glu& i) {
  LinearOperand gate{.x = Value(i.x),
                     .weight = weights_.Rows({i.gate}),
                     .join = Join(i.join),
                     .norm = Norm(i.norm),
                     .bias = weights_.Vector(i.gate_bias)};
  LinearOperand up = gate;
  up.weight = weights_.Rows({i.up});
  up.bias = weights_.Vector(i.up_bias);
  up.outputs = gate.outputs = gate.weight.rows;
  if (i.join) {
    up.x = {gate.join.sum, DTYPE_F32};
    up.join = {};
  }
  const auto bytes_of = [columns = gate.outputs](uint32_t rows) {
    return AlignUp(size_t{rows} * columns * sizeof(float));
  };
  Command command{.rows = RowsOf(i.x),
                  .weight_bytes = BytesOf(gate.weight) + BytesOf(up.weight),
                  .multiplies = 2 * Multiplies(gate.weight)};
  command.scratch = [=](uint32_t rows) {
    LinearOperand first = gate;
    LinearOperand second = up;
    first.rows = second.rows = rows;
    ScratchBytes bytes = Most(LinearScratchOf(first), LinearScratchOf(second));
    bytes.products = 2 * bytes_of(rows);
    return bytes;
  };
  command.encode = [=, kind = static_cast<ActivationKind>(i.activation), out = Value(i.out)](
                       const StepContext& c, uint32_t rows) {
    const size_t bytes = bytes_of(rows);
    const BufferView memory = c.scratch.products;
    LinearOperand first = gate;
    LinearOperand second = up;
    first.rows = second.rows = rows;
    first.out = {{memory.buffer, memory.offset, bytes}, DTYPE_F32};
    second.out = {{memory.buffer, memory.offset + bytes, bytes}, DTYPE_F32};
    Linear(c.dispatcher, first, c.scratch);
    c.dispatcher.Barrier();
    Linear(c.dispatcher, second, c.scratch);
    c.dispatcher.Barrier();
    Activate(c.dispatcher, rows * gate.outputs, kind, first.out, second.out, out);
  };
  return command;
}

Command Binder::operator()(const program::MoeRoute& i) {
  const Routing& routing = i.routing;
  const bool has_gate = i.shared_gate != program::kNone;
  // A gate that is coded unlike the router is a product of its own.
  const bool is_alike = has_gate && weights_.AreAlike({i.router, i.shared_gate});
  const MoeRouteOperand op{
      .x = Value(i.x),
      .norm = Norm(i.norm),
      .router = is_alike ? weights_.Rows({i.router, i.shared_gate}) : weights_.Rows({i.router}),
      .bias = weights_.Vector(i.bias),
      .correction = weights_.Vector(i.correction),
      .experts = Count(routing.experts),
      .top_k = Count(routing.top_k),
      .has_shared_gate = is_alike,
      .scores = static_cast<ScoreKind>(routing.scores),
      .group_rank = routing.groups == 0        ? GROUPS_NONE
                    : routing.rank_by_two_best ? GROUPS_TOP2_SUM
                                               : GROUPS_MAX,
      .groups = Count(routing.groups),
      .kept_groups = Count(routing.kept_groups),
      .is_normalized = routing.normalize,
      .factor = static_cast<float>(routing.factor),
      .out = View(i.out)};
  LinearOperand gate;
  if (has_gate && !is_alike) {
    gate = {.x = op.x,
            .weight = weights_.Rows({i.shared_gate}),
            .norm = op.norm,
            .out = {op.out, DTYPE_F32, 2 * op.top_k + 1, 2 * op.top_k},
            .outputs = 1,
            .activation = ACTIVATION_SIGMOID};
  }
  Command command{.weight_bytes = BytesOf(op.router) + BytesOf(gate.weight),
                  .multiplies = Multiplies(op.router)};
  command.encode = [op, gate](const StepContext& c, uint32_t rows) {
    MoeRouteOperand route = op;
    route.rows = rows;
    MoeRoute(c.dispatcher, route);
    if (gate.weight.rows == 0) return;
    c.dispatcher.Barrier();  // the route has a 1 in the gate's place
    LinearOperand product = gate;
    product.rows = rows;
    Linear(c.dispatcher, product, c.scratch);
  };
  if (gate.weight.rows > 0) {
    command.scratch = [gate](uint32_t rows) {
      LinearOperand product = gate;
      product.rows = rows;
      return LinearScratchOf(product);
    };
  }
  return command;
}

namespace {

/** A command of the chosen experts, and of the shared one if its operand has rows of a weight. */
Command ExpertsCommand(const ExpertsOperand& experts, const LinearOperand& shared) {
  const auto share_of = [&](int64_t all) { return all / experts.experts * experts.top_k; };
  Command command{.weight_bytes = share_of(BytesOf(experts.weight)) + BytesOf(shared.weight),
                  .multiplies = share_of(Multiplies(experts.weight)) + Multiplies(shared.weight)};
  const bool has_shared = shared.weight.rows > 0;
  // What the shared expert adds comes first in the memory of products.
  const auto shared_bytes = [=, is_summed = experts.is_reduce && has_shared](uint32_t rows) {
    return is_summed ? AlignUp(size_t{rows} * shared.outputs * sizeof(float)) : 0;
  };
  command.scratch = [=](uint32_t rows) {
    ExpertsOperand op = experts;
    LinearOperand own = shared;
    op.rows = own.rows = rows;
    ScratchBytes bytes = ExpertsScratchOf(op);
    if (has_shared) bytes = Most(bytes, LinearScratchOf(own));
    bytes.products += shared_bytes(rows);
    return bytes;
  };
  command.encode = [=](const StepContext& c, uint32_t rows) {
    ExpertsOperand op = experts;
    LinearOperand own = shared;
    op.rows = own.rows = rows;
    const size_t bytes = shared_bytes(rows);
    Scratch rest = c.scratch;
    if (bytes > 0) {
      op.shared = {rest.products.buffer, rest.products.offset, bytes};
      own.out = {op.shared, DTYPE_F32};
      rest.products.offset += bytes;
      rest.products.size -= bytes;
    }
    if (has_shared) {
      Linear(c.dispatcher, own, c.scratch);
      c.dispatcher.Barrier();  // of the scratch memory
    }
    experts.is_reduce ? MoeReduce(c.dispatcher, op, rest) : MoeExpand(c.dispatcher, op, rest);
  };
  return command;
}

}  // namespace

Command Binder::operator()(const program::MoeLinear& i) {
  ExpertsOperand op{.x = Value(i.x),
                    .route = View(i.route),
                    .experts = Count(i.experts),
                    .top_k = Count(i.top_k),
                    .is_reduce = i.reduce,
                    .weight = weights_.Rows(i.weights),
                    .bias = weights_.Vector(i.bias),
                    .residual = View(i.residual),
                    .out = Value(i.out)};
  op.expert_rows = op.weight.rows / op.experts;
  LinearOperand shared;
  if (i.shared != program::kNone) {
    shared = {.x = Value(i.x), .weight = weights_.Rows({i.shared}), .out = Value(i.out)};
    shared.outputs = shared.weight.rows;
    (i.reduce ? shared.x.column : shared.out.column) =
        op.top_k * (i.reduce ? op.weight.columns : op.expert_rows);
  }
  return ExpertsCommand(op, shared);
}

namespace {

/** The gates or the ups of all experts, and of the shared one if its operand has rows of a weight. */
struct GluSide {
  ExpertsOperand experts;
  LinearOperand shared;

  /** To float32 [rows, columns of all slots]. */
  void Run(const StepContext& c, uint32_t rows, const BufferView& memory, uint32_t columns) const {
    ExpertsOperand op = experts;
    op.rows = rows;
    op.out = {memory, DTYPE_F32, columns};
    MoeExpand(c.dispatcher, op, c.scratch);
    c.dispatcher.Barrier();  // of the scratch memory
    if (shared.weight.rows == 0) return;
    LinearOperand own = shared;
    own.rows = rows;
    own.out = {memory, DTYPE_F32, columns, columns - own.outputs};
    Linear(c.dispatcher, own, c.scratch);
    c.dispatcher.Barrier();
  }
  ScratchBytes ScratchOf(uint32_t rows) const {
    ExpertsOperand op = experts;
    LinearOperand own = shared;
    op.rows = own.rows = rows;
    const ScratchBytes bytes = ExpertsScratchOf(op);
    return own.weight.rows == 0 ? bytes : Most(bytes, LinearScratchOf(own));
  }
};

}  // namespace

/** Gates and ups are coded unlike: products of their own, then the activation over all slots. */
Command Binder::UnlikeMoeGlu(const program::MoeGlu& i) {
  const auto side_of = [&](const std::vector<WeightId>& ids, WeightId bias, WeightId shared) {
    GluSide side{.experts = {.x = Value(i.x),
                             .norm = Norm(i.norm),
                             .route = View(i.route),
                             .experts = Count(i.experts),
                             .top_k = Count(i.top_k),
                             .weight = weights_.Rows(ids),
                             .bias = weights_.Vector(bias)}};
    side.experts.expert_rows = side.experts.weight.rows / side.experts.experts;
    if (shared == program::kNone) return side;
    side.shared = {.x = Value(i.x), .weight = weights_.Rows({shared}), .norm = Norm(i.norm)};
    side.shared.outputs = side.shared.weight.rows;
    return side;
  };
  const GluSide gate = side_of(i.gate, i.gate_bias, i.shared_gate);
  const GluSide up = side_of(i.up, i.up_bias, i.shared_up);
  const uint32_t columns = Cols(i.out);
  const auto bytes_of = [columns](uint32_t rows) { return AlignUp(size_t{rows} * columns * sizeof(float)); };
  Command command;
  for (const GluSide* side : {&gate, &up}) {
    const auto share_of = [&](int64_t all) { return all / side->experts.experts * side->experts.top_k; };
    command.weight_bytes += share_of(BytesOf(side->experts.weight)) + BytesOf(side->shared.weight);
    command.multiplies += share_of(Multiplies(side->experts.weight)) + Multiplies(side->shared.weight);
  }
  command.scratch = [=](uint32_t rows) {
    ScratchBytes bytes = Most(gate.ScratchOf(rows), up.ScratchOf(rows));
    bytes.products = 2 * bytes_of(rows);
    return bytes;
  };
  command.encode = [=, kind = static_cast<ActivationKind>(i.activation), out = Value(i.out)](
                       const StepContext& c, uint32_t rows) {
    const size_t bytes = bytes_of(rows);
    const BufferView& memory = c.scratch.products;
    const BufferView gates{memory.buffer, memory.offset, bytes};
    const BufferView ups{memory.buffer, memory.offset + bytes, bytes};
    gate.Run(c, rows, gates, columns);
    up.Run(c, rows, ups, columns);
    Activate(c.dispatcher, rows * columns, kind, {gates, DTYPE_F32}, {ups, DTYPE_F32}, out);
  };
  return command;
}

Command Binder::operator()(const program::MoeGlu& i) {
  const bool is_shared_alike =
      i.shared_gate == program::kNone || weights_.AreAlike({i.shared_gate, i.shared_up});
  if (!is_shared_alike || !weights_.AreAlike({i.gate[0], i.up[0]})) return UnlikeMoeGlu(i);
  const Matrix weight = weights_.Rows(Joined(i.gate, i.up));
  const int64_t rows = int64_t{weight.rows} / 2;
  const ExpertsOperand op{.x = Value(i.x),
                          .norm = Norm(i.norm),
                          .route = View(i.route),
                          .experts = Count(i.experts),
                          .top_k = Count(i.top_k),
                          .weight = weight,
                          .bias = weights_.Vectors({i.gate_bias, i.up_bias}, {rows, rows}),
                          .expert_rows = Count(rows / i.experts),
                          .is_glu = true,
                          .up_offset = Count(rows),
                          .activation = static_cast<ActivationKind>(i.activation),
                          .out = Value(i.out)};
  return ExpertsCommand(op, SharedGlu(i));
}

LinearOperand Binder::SharedGlu(const program::MoeGlu& i) {
  if (i.shared_gate == program::kNone) return {};
  LinearOperand shared{.x = Value(i.x),
                       .weight = weights_.Rows({i.shared_gate, i.shared_up}),
                       .norm = Norm(i.norm),
                       .out = Value(i.out),
                       .activation = static_cast<ActivationKind>(i.activation),
                       .is_glu = true};
  shared.outputs = shared.up_offset = shared.weight.rows / 2;
  shared.out.column = Cols(i.out) - shared.outputs;
  return shared;
}

}  // namespace anllm::metal
