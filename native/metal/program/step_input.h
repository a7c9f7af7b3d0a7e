/** The input of one step in memory that kernels read. */
#pragma once

#include <memory>

#include "../../kernels/step.h"
#include "../../program/draws.h"
#include "../../program/plan.h"
#include "../operands.h"

namespace anllm::metal {

/** What a draw reads: a row of logits and its first columns; `mask` 0 for none, else its number and 1. */
struct DrawPlace {
  uint32_t row;
  uint32_t columns;
  uint32_t mask;
};

/** DRAW_WORDS words, as metal/params.h has them. */
void EncodeDraw(const Draw& draw, const DrawPlace& place, uint32_t* record);

class StepInput {
 public:
  /** `has_decode_attention` false: all rows are in tiles. */
  StepInput(Device& device, const program::Limits& limits, bool has_decode_attention);

  /** Copies a step's input; not while a step runs. Throws Error unavailable. */
  void Assign(const Step& step, const program::Draws& draws);

  const StepOperand& step() const { return step_; }
  const AttentionWork& attention() const { return attention_; }
  /** [R] int32 */
  const BufferView& gathered_rows() const { return gathered_rows_; }
  uint32_t logit_rows() const { return logit_rows_; }
  const DrawOperand& draws() const { return draws_; }

 private:
  BufferView Allocate(int64_t words);
  void AssignDraws(const program::Draws& draws);

  Device& device_;
  const bool has_decode_attention_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  /** Grow with what steps need. */
  std::unique_ptr<Buffer> block_tables_;
  std::unique_ptr<Buffer> masks_;
  StepOperand step_;
  AttentionWork attention_;
  BufferView gathered_rows_;
  uint32_t logit_rows_ = 0;
  DrawOperand draws_;
};

}  // namespace anllm::metal
