/** Which rows of a step go to which attention kernel. */
#pragma once

#include <cstdint>
#include <vector>

namespace anllm::metal {

/** Rows and tiles as the kernels read them. */
struct AttentionPlan {
  std::vector<int32_t> rows;
  /** First row, rows, sequence, 0 of each tile. */
  std::vector<int32_t> tiles;
  /** Most positions that one of `rows` sees. */
  uint32_t longest = 0;
};

/**
 * `offsets` [sequences + 1]: first row of each sequence; `positions` [T]. Without `has_single_rows` tiles
 * take all rows.
 */
AttentionPlan PlanAttention(const int32_t* offsets, uint32_t sequences, const int32_t* positions,
                            bool has_single_rows = true);

}  // namespace anllm::metal
