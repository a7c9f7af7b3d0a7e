#include "rope_tables.h"

#include <algorithm>
#include <cmath>

namespace anllm::program {
namespace {

int64_t PairsOf(const RopeSpec& spec) {
  return static_cast<int64_t>(spec.inverse_frequencies.size());
}

}  // namespace

const RopeTable* RopeTables::Add(const RopeSpec& spec) {
  for (const Entry& entry : entries_) {
    if (entry.spec.inverse_frequencies == spec.inverse_frequencies && entry.spec.scale == spec.scale &&
        entry.spec.is_interleaved == spec.is_interleaved && entry.spec.start == spec.start) {
      return &entry.table;
    }
  }
  entries_.push_back(
      {spec, {nullptr, nullptr, PairsOf(spec), spec.is_interleaved, spec.start}, nullptr, nullptr});
  return &entries_.back().table;
}

int64_t RopeTables::Bytes(int64_t max_tokens) const {
  int64_t floats = 0;
  for (const Entry& entry : entries_) floats += 2 * max_tokens * PairsOf(entry.spec);
  return floats * static_cast<int64_t>(sizeof(float));
}

void RopeTables::Place(uint8_t* memory, int64_t max_tokens) {
  auto* free = reinterpret_cast<float*>(memory);
  for (Entry& entry : entries_) {
    const int64_t size = max_tokens * PairsOf(entry.spec);
    entry.cos = free;
    entry.sin = free + size;
    entry.table.cos = entry.cos;
    entry.table.sin = entry.sin;
    free += 2 * size;
  }
}

void RopeTables::Fill(const int32_t* positions, int64_t count, ThreadPool* pool) {
  constexpr int64_t kRowsPerTask = 32;
  struct Context {
    const Entry& entry;
    const int32_t* positions;
    int64_t count;
  };
  for (const Entry& entry : entries_) {
    Context context{entry, positions, count};
    const auto fill = [](void* data, int64_t task, int) {
      const auto& [e, rows, end] = *static_cast<Context*>(data);
      const int64_t pairs = e.table.pairs;
      for (int64_t row = task * kRowsPerTask; row < std::min(end, (task + 1) * kRowsPerTask); row++) {
        for (int64_t i = 0; i < pairs; i++) {
          const double angle = rows[row] * e.spec.inverse_frequencies[static_cast<size_t>(i)];
          e.cos[row * pairs + i] = static_cast<float>(std::cos(angle) * e.spec.scale);
          e.sin[row * pairs + i] = static_cast<float>(std::sin(angle) * e.spec.scale);
        }
      }
    };
    pool->ParallelFor((count + kRowsPerTask - 1) / kRowsPerTask, fill, &context);
  }
}

}  // namespace anllm::program
