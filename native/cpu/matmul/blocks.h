/** How a matrix product is cut into tasks. */
#pragma once

#include "../shared/parallel.h"
#include "tiles.h"

namespace anllm::ANLLM_ISA {

/**
 * Tasks for each thread: taking one costs as much as some blocks of a small model, but the last one is
 * waited for.
 */
constexpr int64_t kTasksPerThread = 3;

/**
 * body(first_block, last_block, first_row, last_row): covers blocks × rows; panels begin at multiples of
 * kTileRows.
 */
template <class Body>
ANLLM_INLINE void ForBlocks(const Step& step, int64_t blocks, int64_t rows, Body body) {
  const int64_t panels = CeilDivide(rows, kPanelRows);
  const int64_t wanted = CeilDivide(kTasksPerThread * step.threads, panels);
  const int64_t per_task = CeilDivide(blocks, Smaller(blocks, wanted));
  const int64_t groups = CeilDivide(blocks, per_task);
  For(step, groups * panels, [&](int64_t task, int) {
    const int64_t first = task % groups * per_task;
    const int64_t row = task / groups * kPanelRows;
    body(first, Smaller(blocks, first + per_task), row, Smaller(rows, row + kPanelRows));
  });
}

}  // namespace anllm::ANLLM_ISA
