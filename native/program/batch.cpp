#include "batch.h"

#include "../error.h"

namespace anllm::program {
namespace {

[[noreturn]] void Fail(const std::string& what, int64_t got, const std::string& expected) {
  throw BadRequest("[step] " + what + ": got " + std::to_string(got) + ", expected " + expected);
}

void InRange(const std::string& what, int64_t got, int64_t low, int64_t high) {
  if (got < low || got > high) Fail(what, got, std::to_string(low) + " to " + std::to_string(high));
}

void Equal(const std::string& what, int64_t got, int64_t expected) {
  if (got != expected) Fail(what, got, std::to_string(expected));
}

void Copy(const Ints& from, std::vector<int32_t>* to) {
  to->assign(from.data, from.data + from.size);
}

}  // namespace

Batch::Batch(const Limits& limits, int64_t vocab_size, int64_t block_tokens)
    : limits_(limits),
      vocab_size_(vocab_size),
      block_tokens_(block_tokens),
      writer_(static_cast<size_t>(limits.kv_blocks), 0) {
  // Steps do not allocate: only the tables of very many sequences outgrow these.
  for (auto* rows : {&tokens_, &positions_, &sequence_of_})
    rows->reserve(static_cast<size_t>(limits.max_tokens));
  offsets_.reserve(static_cast<size_t>(limits.max_tokens) + 1);
  block_tables_.reserve(static_cast<size_t>(limits.kv_blocks));
  state_slots_.reserve(static_cast<size_t>(limits.max_tokens));
  logit_rows_.reserve(static_cast<size_t>(limits.max_logit_rows));
}

void Batch::Assign(const BatchView& view) {
  InRange("tokens", view.tokens.size, 1, limits_.max_tokens);
  Equal("positions", view.positions.size, view.tokens.size);
  InRange("sequences", view.offsets.size - 1, 1, view.tokens.size);
  InRange("blocksPerSequence", view.blocks_per_sequence, 1, limits_.kv_blocks);
  Equal("block table entries", view.block_tables.size, (view.offsets.size - 1) * view.blocks_per_sequence);
  Equal("offsets[0]", view.offsets.data[0], 0);
  Equal("last offset", view.offsets.data[view.offsets.size - 1], view.tokens.size);
  for (int64_t t = 0; t < view.tokens.size; t++) InRange("token", view.tokens.data[t], 0, vocab_size_ - 1);
  InRange("rows of logits", view.logit_rows.size, 0, limits_.max_logit_rows);
  for (int64_t r = 0; r < view.logit_rows.size; r++) {
    InRange("logit row", view.logit_rows.data[r], r == 0 ? 0 : view.logit_rows.data[r - 1],
            view.tokens.size - 1);
  }
  CheckSequences(view);
  Copy(view.tokens, &tokens_);
  Copy(view.positions, &positions_);
  Copy(view.offsets, &offsets_);
  Copy(view.block_tables, &block_tables_);
  Copy(view.logit_rows, &logit_rows_);
  Copy(view.state_slots, &state_slots_);
  blocks_per_sequence_ = view.blocks_per_sequence;
  sequence_of_.resize(tokens_.size());
  for (size_t s = 0; s + 1 < offsets_.size(); s++) {
    for (int32_t t = offsets_[s]; t < offsets_[s + 1]; t++)
      sequence_of_[static_cast<size_t>(t)] = static_cast<int32_t>(s);
  }
}

void Batch::CheckSequences(const BatchView& view) {
  std::fill(writer_.begin(), writer_.end(), 0);
  for (int64_t s = 0; s + 1 < view.offsets.size; s++) {
    const int64_t begin = view.offsets.data[s];
    const int64_t end = view.offsets.data[s + 1];
    InRange("offsets[" + std::to_string(s + 1) + "]", end, begin + 1, view.tokens.size);
    const int64_t first = view.positions.data[begin];
    const int64_t places = view.blocks_per_sequence * block_tokens_;
    InRange("first position of sequence " + std::to_string(s), first, 0, places - (end - begin));
    for (int64_t t = begin; t < end; t++) {
      Equal("position of row " + std::to_string(t), view.positions.data[t], first + t - begin);
    }
    const int32_t* table = view.block_tables.data + s * view.blocks_per_sequence;
    for (int64_t b = 0; b <= (first + end - begin - 1) / block_tokens_; b++) {
      InRange("KV block of sequence " + std::to_string(s), table[b], 0, limits_.kv_blocks - 1);
      if (b < first / block_tokens_) continue;
      int32_t& writer = writer_[static_cast<size_t>(table[b])];
      if (writer != 0)
        Fail("KV block written by two places of the block tables", table[b], "each at most once");
      writer = static_cast<int32_t>(s + 1);
    }
  }
}

Step Batch::AsStep() const {
  Step step{};
  step.tokens = static_cast<int64_t>(tokens_.size());
  step.logit_rows = static_cast<int64_t>(logit_rows_.size());
  step.sequences = static_cast<int64_t>(offsets_.size()) - 1;
  step.token_ids = tokens_.data();
  step.positions = positions_.data();
  step.offsets = offsets_.data();
  step.sequence_of = sequence_of_.data();
  step.block_tables = block_tables_.data();
  step.blocks_per_sequence = blocks_per_sequence_;
  step.gathered_rows = logit_rows_.data();
  step.state_slots = state_slots_.data();
  return step;
}

}  // namespace anllm::program
