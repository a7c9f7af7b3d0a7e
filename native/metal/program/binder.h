/** From one instruction of a program to its command; the accesses of its values are left to the caller. */
#pragma once

#include "bind.h"

namespace anllm::metal {

class Binder {
 public:
  Binder(const program::Program& program, Weights& weights, const program::Limits& limits,
         const std::vector<Values>& values, const std::vector<KvMemory>& kv_layers,
         const std::vector<StateMemory>& state_layers, bool is_fast)
      : program_(program),
        weights_(weights),
        limits_(limits),
        values_(values),
        kv_layers_(kv_layers),
        state_layers_(state_layers),
        is_fast_(is_fast) {}

  Command operator()(const program::Embed& i);
  Command operator()(const program::Normalize& i);
  Command operator()(const program::Linear& i);
  Command operator()(const program::Glu& i);
  Command operator()(const program::Activate& i);
  Command operator()(const program::Rope& i);
  Command operator()(const program::KvWrite& i);
  Command operator()(const program::AttentionPrepare& i);
  Command operator()(const program::LatentPrepare& i);
  Command operator()(const program::Attention& i);
  /** The two as one command, which takes one dispatch less where every sequence has one row. */
  Command operator()(const program::AttentionPrepare& prepare, const program::Attention& attention);
  Command operator()(const program::GatedDelta& i);
  Command operator()(const program::MoeRoute& i);
  Command operator()(const program::MoeLinear& i);
  Command operator()(const program::MoeGlu& i);
  Command operator()(const program::Add& i);
  Command operator()(const program::Scale& i);
  Command operator()(const program::GatherRows& i);

 private:
  const program::ValueSpec& Spec(program::ValueId id) const {
    return program_.values[static_cast<size_t>(id)];
  }
  uint32_t Cols(program::ValueId id) const { return static_cast<uint32_t>(Spec(id).cols); }
  Rows RowsOf(program::ValueId id) const { return Spec(id).rows; }
  int64_t WeightRows(program::WeightId id) const { return program_.weights[static_cast<size_t>(id)].rows; }
  /** No buffer for kNone. */
  Values Value(program::ValueId id) const;
  Values Part(const program::Columns& columns) const;
  BufferView View(program::ValueId id) const { return Value(id).view; }
  NormOperand Norm(const program::NormSpec& spec);
  NormOperand Norm(const std::optional<program::NormSpec>& spec);
  JoinOperand Join(const std::optional<program::JoinSpec>& spec);
  RopeOperand RopeOf(const program::RopeSpec& spec);
  PrepareOperand PrepareOf(const program::AttentionPrepare& i);
  AttentionOperand AttentionOf(const program::Attention& i);
  std::function<ScratchBytes(uint32_t rows)> ScratchOf(const AttentionOperand& op,
                                                       const KvLayerOperand& layer) const;
  const KvMemory& Layer(int64_t layer) const { return kv_layers_[static_cast<size_t>(layer)]; }
  Command UnlikeGlu(const program::Glu& i);
  Command UnlikeMoeGlu(const program::MoeGlu& i);
  LinearOperand SharedGlu(const program::MoeGlu& i);

  const program::Program& program_;
  Weights& weights_;
  const program::Limits& limits_;
  const std::vector<Values>& values_;
  const std::vector<KvMemory>& kv_layers_;
  const std::vector<StateMemory>& state_layers_;
  const bool is_fast_;
};

}  // namespace anllm::metal
