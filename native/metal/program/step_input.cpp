#include "step_input.h"

#include <algorithm>
#include <cstring>

#include "../../../metal/params.h"
#include "../attention_plan.h"

namespace anllm::metal {
namespace {

void Fill(const BufferView& view, const int32_t* words, int64_t count) {
  if (count > 0) std::memcpy(view.buffer->contents(), words, static_cast<size_t>(count) * sizeof(int32_t));
}

}  // namespace

StepInput::StepInput(Device& device, const program::Limits& limits, bool has_decode_attention)
    : device_(device), has_decode_attention_(has_decode_attention) {
  step_.tokens = Allocate(limits.max_tokens);
  step_.positions = Allocate(limits.max_tokens);
  step_.sequence_of = Allocate(limits.max_tokens);
  step_.offsets = Allocate(limits.max_tokens + 1);
  step_.state_slots = Allocate(limits.max_tokens);
  gathered_rows_ = Allocate(limits.max_logit_rows);
  attention_.rows = Allocate(limits.max_tokens);
  // A tile has at least one row.
  attention_.tiles = Allocate(limits.max_tokens * TILE_WORDS);
}

BufferView StepInput::Allocate(int64_t words) {
  const size_t bytes = static_cast<size_t>(words) * sizeof(int32_t);
  buffers_.push_back(device_.NewBuffer(bytes));
  return {buffers_.back().get(), 0, bytes};
}

void StepInput::Assign(const Step& step) {
  step_.rows = static_cast<uint32_t>(step.tokens);
  step_.sequences = static_cast<uint32_t>(step.sequences);
  step_.blocks_per_sequence = static_cast<uint32_t>(step.blocks_per_sequence);
  logit_rows_ = static_cast<uint32_t>(step.logit_rows);
  Fill(step_.tokens, step.token_ids, step.tokens);
  Fill(step_.positions, step.positions, step.tokens);
  Fill(step_.sequence_of, step.sequence_of, step.tokens);
  Fill(step_.offsets, step.offsets, step.sequences + 1);
  Fill(gathered_rows_, step.gathered_rows, step.logit_rows);
  if (step.state_slots != nullptr) Fill(step_.state_slots, step.state_slots, step.sequences);

  const int64_t entries = step.sequences * step.blocks_per_sequence;
  const size_t bytes = static_cast<size_t>(entries) * sizeof(int32_t);
  if (block_tables_ == nullptr || block_tables_->size() < bytes) block_tables_ = device_.NewBuffer(2 * bytes);
  step_.block_tables = {block_tables_.get(), 0, bytes};
  Fill(step_.block_tables, step.block_tables, entries);

  const AttentionPlan plan =
      PlanAttention(step.offsets, step_.sequences, step.positions, has_decode_attention_);
  attention_.row_count = static_cast<uint32_t>(plan.rows.size());
  attention_.tile_count = static_cast<uint32_t>(plan.tiles.size() / TILE_WORDS);
  attention_.longest = plan.longest;
  Fill(attention_.rows, plan.rows.data(), attention_.row_count);
  Fill(attention_.tiles, plan.tiles.data(), static_cast<int64_t>(plan.tiles.size()));
}

}  // namespace anllm::metal
