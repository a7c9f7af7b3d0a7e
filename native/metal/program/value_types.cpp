#include "value_types.h"

#include "../../program/operands.h"

namespace anllm::metal {
namespace {

using program::ValueId;
using Ids = std::vector<ValueId>;

/** Values that are the residual stream, or whole numbers. */
struct FloatValues {
  Ids operator()(const program::Embed& i) const { return {i.out}; }
  Ids operator()(const program::Normalize& i) const { return Residual(i.residual, i.out); }
  Ids operator()(const program::Linear& i) const {
    Ids ids = Residual(i.residual, i.out);
    if (i.join) ids.insert(ids.end(), {i.join->residual, i.join->sum});
    return ids;
  }
  Ids operator()(const program::Glu& i) const { return i.join ? Ids{i.join->residual, i.join->sum} : Ids{}; }
  Ids operator()(const program::Add& i) const { return {i.a, i.b, i.out}; }
  Ids operator()(const program::GatedDelta& i) const { return {i.x}; }
  Ids operator()(const program::MoeRoute& i) const { return {i.out}; }
  Ids operator()(const program::MoeLinear& i) const { return Residual(i.residual, i.out); }
  template <class Other>
  Ids operator()(const Other&) const {
    return {};
  }

  static Ids Residual(ValueId residual, ValueId out) {
    return residual == program::kNone ? Ids{} : Ids{residual, out};
  }
};

/** Values that a kernel takes to be of one type. */
struct EqualTypes {
  Ids operator()(const program::Activate& i) const { return {i.gate, i.up}; }
  Ids operator()(const program::KvWrite& i) const { return {i.k, i.v, i.shared_key}; }
  Ids operator()(const program::LatentPrepare& i) const { return {i.q.value, i.kv, i.shared_key.value}; }
  Ids operator()(const program::GatherRows& i) const { return {i.x, i.out}; }
  Ids operator()(const program::Scale& i) const { return {i.x, i.out}; }
  template <class Other>
  Ids operator()(const Other&) const {
    return {};
  }
};

}  // namespace

std::vector<DType> ValueTypes(const program::Program& program, bool is_half) {
  std::vector<DType> types(program.values.size(), is_half ? DTYPE_F16 : DTYPE_F32);
  const auto type_of = [&](ValueId id) -> DType& { return types[static_cast<size_t>(id)]; };
  type_of(program.logits) = DTYPE_F32;
  if (program.hidden != program::kNone) type_of(program.hidden) = DTYPE_F32;
  for (const program::Instruction& instruction : program.instructions) {
    for (const ValueId id : std::visit(FloatValues{}, instruction)) type_of(id) = DTYPE_F32;
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const program::Instruction& instruction : program.instructions) {
      const Ids ids = std::visit(EqualTypes{}, instruction);
      bool is_float = false;
      for (const ValueId id : ids) is_float |= id != program::kNone && type_of(id) == DTYPE_F32;
      for (const ValueId id : ids) {
        if (!is_float || id == program::kNone || type_of(id) == DTYPE_F32) continue;
        type_of(id) = DTYPE_F32;
        has_changed = true;
      }
    }
  }
  return types;
}

}  // namespace anllm::metal
