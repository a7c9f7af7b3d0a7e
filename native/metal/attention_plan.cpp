#include "attention_plan.h"

#include <algorithm>

#include "../../metal/params.h"

namespace anllm::metal {

namespace {

/** Up to here every row reads the keys for itself, and splits of the keys fill the GPU; beyond, tiles share
 * them. */
constexpr int32_t kSingleRows = 8;

}  // namespace

AttentionPlan PlanAttention(const int32_t* offsets, uint32_t sequences, const int32_t* positions,
                            bool has_single_rows) {
  AttentionPlan plan;
  for (uint32_t s = 0; s < sequences; s++) {
    const int32_t begin = offsets[s];
    const int32_t end = offsets[s + 1];
    if (has_single_rows && end - begin <= kSingleRows) {
      for (int32_t row = begin; row < end; row++) {
        plan.rows.push_back(row);
        plan.longest = std::max(plan.longest, static_cast<uint32_t>(positions[row]) + 1);
      }
    } else {
      for (int32_t row = begin; row < end; row += TILE_QUERIES) {
        const int32_t rows = std::min<int32_t>(TILE_QUERIES, end - row);
        plan.tiles.insert(plan.tiles.end(), {row, rows, static_cast<int32_t>(s), 0});
      }
    }
  }
  return plan;
}

}  // namespace anllm::metal
