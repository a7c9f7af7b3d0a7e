#include "plan.h"

#include <algorithm>
#include <numeric>

#include "../aligned_buffer.h"
#include "operands.h"

namespace anllm::program {
namespace {

struct Lifetime {
  int64_t bytes;
  int64_t first;  // instruction that writes it
  int64_t last;   // last instruction that reads it
};

std::vector<Lifetime> LifetimesOf(const Program& program, const Limits& limits,
                                  const std::set<int64_t>& joined) {
  std::vector<Lifetime> lives;
  for (const ValueSpec& value : program.values) {
    const int64_t rows = value.rows == Rows::kTokens ? limits.max_tokens : limits.max_logit_rows;
    lives.push_back(
        {static_cast<int64_t>(AlignUp(static_cast<size_t>(rows * value.cols) * sizeof(float))), -1, -1});
  }
  const auto life_of = [&](ValueId id) -> Lifetime& { return lives[static_cast<size_t>(id)]; };
  const auto count = static_cast<int64_t>(program.instructions.size());
  for (int64_t i = 0; i < count; i++) {
    const Instruction& instruction = program.instructions[static_cast<size_t>(i)];
    for (ValueId id : InputsOf(instruction)) life_of(id).last = i;
    for (ValueId id : OutputsOf(instruction)) life_of(id).first = life_of(id).last = i;
  }
  for (Lifetime& life : lives) {
    if (joined.contains(life.first - 1)) life.first--;
    if (joined.contains(life.last)) life.last++;
  }
  life_of(program.logits).last = count;
  if (program.hidden != kNone) life_of(program.hidden).last = count;
  return lives;
}

}  // namespace

Plan PlanMemory(const Program& program, const Limits& limits, const std::set<int64_t>& joined) {
  const std::vector<Lifetime> lives = LifetimesOf(program, limits, joined);
  // Large values first, each at the lowest place that is free for its lifetime.
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lives[a].bytes > lives[b].bytes; });
  Plan plan{std::vector<int64_t>(lives.size(), 0), 0};
  std::vector<size_t> placed;  // by offset
  for (size_t value : order) {
    if (lives[value].first < 0) continue;
    int64_t offset = 0;
    for (size_t other : placed) {
      if (lives[other].last < lives[value].first || lives[value].last < lives[other].first) continue;
      if (plan.offsets[other] >= offset + lives[value].bytes) break;
      offset = std::max(offset, plan.offsets[other] + lives[other].bytes);
    }
    plan.offsets[value] = offset;
    plan.bytes = std::max(plan.bytes, offset + lives[value].bytes);
    const auto later = [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), value, later), value);
  }
  return plan;
}

}  // namespace anllm::program
