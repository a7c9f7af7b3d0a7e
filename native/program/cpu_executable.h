/** A program bound to the CPU's weights and memory, and the loop that runs it. */
#pragma once

#include "bind.h"
#include "executable.h"

namespace anllm::program {

struct CpuOptions {
  Limits limits;
  /** int8 activations for quantized weights; else float32 throughout. */
  bool is_fast;
  KvFormat kv_format;
  int threads;
  const Kernels* kernels;
  bool decode_attention;
  /** Quantized weights are decoded to float32 when they are loaded. */
  bool force_dequantized;
  /** Where packed weights are kept; empty: nowhere. */
  std::string packed_file;
};

class CpuExecutable : public Executable {
 public:
  /** Validates, loads and plans. Throws Error. */
  CpuExecutable(const Program& program, const std::vector<weights::WeightSource>& sources,
                const CpuOptions& options);

  int threads() const override { return pool_.threads(); }
  int64_t bytes_per_token() const override { return bytes_per_token_; }
  int64_t vocab_size() const override { return vocab_size_; }

  void Assign(const BatchView& batch, const DrawsView& draws) override;
  BlockMemory blocks() const override { return kv_.blocks(); }
  BlockMemory states() const override { return states_.memory(); }
  StateSlots& state_slots() override { return states_.slots(); }
  void SetPlanes(int attention, int others) override;
  bool Run(const std::atomic<bool>& cancelled) override;
  const float* logits() const override { return bound_.logits; }
  int64_t logit_rows() const override { return batch_.AsStep().logit_rows; }
  const Draws& draws() const override { return draws_; }
  const int32_t* drawn() const override { return drawn_.data(); }
  HiddenStates hidden() const override { return {bound_.hidden, batch_.AsStep().tokens, bound_.hidden_cols}; }

 private:
  void RunOp(const BoundOp& op, const Step& step) const;
  void DrawTokens(const Step& step);

  const Kernels& kernels_;
  ThreadPool pool_;
  weights::LoadedWeights weights_;
  KvPool kv_;
  StatePool states_;
  BoundProgram bound_;
  Batch batch_;
  Draws draws_;
  std::vector<int32_t> drawn_;
  /** For drawing; allocated by the first step that does it. */
  AlignedBuffer draw_memory_;
  int64_t bytes_per_token_;
  int64_t vocab_size_;
};

}  // namespace anllm::program
