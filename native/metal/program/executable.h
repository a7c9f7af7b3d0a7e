/** A program on a GPU. */
#pragma once

#include "../../program/executable.h"
#include "../../program/state_slots.h"
#include "step_encoder.h"

namespace anllm::metal {

struct Options {
  program::Limits limits;
  Numbers numbers;
  /** False: single rows go through the attention kernel of many rows. */
  bool has_decode_attention;
  WeightOptions weights;
};

class Executable : public program::Executable {
 public:
  /** Validates, loads, plans, and makes the pipelines. Throws Error. */
  Executable(std::unique_ptr<Device> device, const program::Program& program,
             const std::vector<weights::WeightSource>& sources, const Options& options);
  ~Executable() override;

  int threads() const override { return 1; }
  int64_t bytes_per_token() const override { return bytes_per_token_; }
  int64_t vocab_size() const override { return vocab_size_; }

  void Assign(const program::BatchView& batch, const program::DrawsView& draws) override;
  program::BlockMemory blocks() const override;
  program::BlockMemory states() const override;
  program::StateSlots& state_slots() override { return states_; }
  /** Activations are never integers. */
  void SetPlanes(int, int) override {}
  /** A GPU that stops is made usable again, and does the step once more where that gives the same. */
  bool Run(const std::atomic<bool>& cancelled) override;
  const float* logits() const override;
  int64_t logit_rows() const override { return batch_.AsStep().logit_rows; }
  const program::Draws& draws() const override { return draws_; }
  const int32_t* drawn() const override;
  program::HiddenStates hidden() const override;

 private:
  /** All memory of the model on the GPU. */
  std::vector<const Buffer*> Buffers() const;
  bool RunOrRetry(const std::atomic<bool>& cancelled);

  const std::unique_ptr<Device> device_;
  const int64_t vocab_size_;
  const int64_t kv_blocks_;
  Weights weights_;
  BoundProgram bound_;
  StepInput input_;
  StepEncoder encoder_;
  program::Batch batch_;
  program::Draws draws_;
  int64_t state_count_;
  program::StateSlots states_;
  int64_t bytes_per_token_ = 0;
};

/**
 * Dispatches of a step of `rows` new tokens of one sequence after `position` cached ones, with logits of the
 * last row; the program is for at least as many. Their pipelines are made on the way.
 */
int64_t CountDispatches(StepEncoder& encoder, const program::Limits& limits, int64_t rows, int64_t position);

}  // namespace anllm::metal
