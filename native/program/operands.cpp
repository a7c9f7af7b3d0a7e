#include "operands.h"

namespace anllm::program {
namespace {

using Ids = std::vector<ValueId>;

struct Inputs {
  Ids operator()(const Embed&) const { return {}; }
  Ids operator()(const Normalize& i) const {
    return Given({i.x, i.gate ? i.gate->columns.value : kNone, i.residual});
  }
  Ids operator()(const Linear& i) const { return Given({i.x, i.residual, ResidualOf(i.join)}); }
  Ids operator()(const Glu& i) const { return Given({i.x, ResidualOf(i.join)}); }
  Ids operator()(const Activate& i) const { return Given({i.gate, i.up}); }
  Ids operator()(const Rope& i) const { return {i.x}; }
  Ids operator()(const KvWrite& i) const { return Given({i.k, i.v, i.shared_key}); }
  Ids operator()(const AttentionPrepare& i) const { return {i.qkv}; }
  Ids operator()(const LatentPrepare& i) const { return {i.q.value, i.kv, i.shared_key.value}; }
  Ids operator()(const Attention& i) const { return Given({i.q, i.gate ? i.gate->value : kNone}); }
  Ids operator()(const GatedDelta& i) const { return {i.x}; }
  Ids operator()(const MoeRoute& i) const { return {i.x}; }
  Ids operator()(const MoeLinear& i) const { return Given({i.x, i.route, i.residual}); }
  Ids operator()(const MoeGlu& i) const { return {i.x, i.route}; }
  Ids operator()(const Add& i) const { return {i.a, i.b}; }
  Ids operator()(const Scale& i) const { return {i.x}; }
  Ids operator()(const GatherRows& i) const { return {i.x}; }

  static Ids Given(std::initializer_list<ValueId> ids) {
    Ids given;
    for (const ValueId id : ids) {
      if (id != kNone) given.push_back(id);
    }
    return given;
  }
  static ValueId ResidualOf(const std::optional<JoinSpec>& join) { return join ? join->residual : kNone; }
};

struct Outputs {
  Ids operator()(const KvWrite&) const { return {}; }
  Ids operator()(const Linear& i) const { return WithSum(i.out, i.join); }
  Ids operator()(const Glu& i) const { return WithSum(i.out, i.join); }
  template <class Other>
  Ids operator()(const Other& i) const {
    return {i.out};
  }

  static Ids WithSum(ValueId out, const std::optional<JoinSpec>& join) {
    return join ? Ids{out, join->sum} : Ids{out};
  }
};

}  // namespace

std::vector<ValueId> InputsOf(const Instruction& instruction) {
  return std::visit(Inputs{}, instruction);
}

std::vector<ValueId> OutputsOf(const Instruction& instruction) {
  return std::visit(Outputs{}, instruction);
}

const char* NameOf(const Instruction& instruction) {
  return std::visit([](const auto& i) { return i.kName; }, instruction);
}

}  // namespace anllm::program
