#include "step_input.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../../../metal/params.h"
#include "../attention_plan.h"

namespace anllm::metal {
namespace {

uint32_t Low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
uint32_t High(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

/** A buffer for `bytes`, and a view of so many: the one that is there, or a larger one. */
BufferView Grown(Device& device, std::unique_ptr<Buffer>* buffer, size_t bytes) {
  if (*buffer == nullptr || (*buffer)->size() < bytes) *buffer = device.NewBuffer(2 * bytes);
  return {buffer->get(), 0, bytes};
}

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
  draws_.draws = Allocate(limits.max_logit_rows * DRAW_WORDS);
  // A tile has at least one row.
  attention_.tiles = Allocate(limits.max_tokens * TILE_WORDS);
}

BufferView StepInput::Allocate(int64_t words) {
  const size_t bytes = static_cast<size_t>(words) * sizeof(int32_t);
  buffers_.push_back(device_.NewBuffer(bytes));
  return {buffers_.back().get(), 0, bytes};
}

void StepInput::Assign(const Step& step, const program::Draws& draws) {
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
  step_.block_tables = Grown(device_, &block_tables_, static_cast<size_t>(entries) * sizeof(int32_t));
  Fill(step_.block_tables, step.block_tables, entries);

  const AttentionPlan plan =
      PlanAttention(step.offsets, step_.sequences, step.positions, has_decode_attention_);
  attention_.row_count = static_cast<uint32_t>(plan.rows.size());
  attention_.tile_count = static_cast<uint32_t>(plan.tiles.size() / TILE_WORDS);
  attention_.longest = plan.longest;
  Fill(attention_.rows, plan.rows.data(), attention_.row_count);
  Fill(attention_.tiles, plan.tiles.data(), static_cast<int64_t>(plan.tiles.size()));
  AssignDraws(draws);
}

void EncodeDraw(const Draw& draw, const DrawPlace& place, uint32_t* record) {
  record[DRAW_ROW] = place.row;
  record[DRAW_TEMPERATURE] = std::bit_cast<uint32_t>(draw.temperature);
  record[DRAW_TOP_K] = static_cast<uint32_t>(std::min<int64_t>(draw.top_k, place.columns));
  record[DRAW_TOP_P] = std::bit_cast<uint32_t>(static_cast<float>(draw.top_p));
  record[DRAW_MIN_P] = std::bit_cast<uint32_t>(static_cast<float>(draw.min_p));
  record[DRAW_SEED_LOW] = Low(draw.seed);
  record[DRAW_SEED_HIGH] = High(draw.seed);
  record[DRAW_INDEX_LOW] = Low(draw.index);
  record[DRAW_INDEX_HIGH] = High(draw.index);
  record[DRAW_MASK] = place.mask;
}

void StepInput::AssignDraws(const program::Draws& draws) {
  draws_.count = 0;
  draws_.columns = static_cast<uint32_t>(draws.columns());
  draws_.mask_words = static_cast<uint32_t>(draws.words());
  auto* words = reinterpret_cast<uint32_t*>(draws_.draws.buffer->contents());
  for (size_t row = 0; row < draws.rows().size(); row++) {
    const Draw& draw = draws.rows()[row];
    if (!draw.is_wanted) continue;
    const auto mask = draw.allowed == nullptr ? 0 : (draw.allowed - draws.masks().data()) / draws.words() + 1;
    EncodeDraw(draw, {static_cast<uint32_t>(row), draws_.columns, static_cast<uint32_t>(mask)},
               words + DRAW_WORDS * draws_.count++);
  }
  draws_.masks = {};
  if (draws.masks().empty()) return;
  const size_t bytes = draws.masks().size() * sizeof(uint32_t);
  draws_.masks = Grown(device_, &masks_, bytes);
  std::memcpy(masks_->contents(), draws.masks().data(), bytes);
}

}  // namespace anllm::metal
