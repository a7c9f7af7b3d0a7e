/** How the simdgroups of a GPU divide a matrix product of few rows. */
#pragma once

#include "ops.h"

namespace anllm::metal {

/** One row: SETS * lane_rows rows of the weight a simdgroup; `split` simdgroups of a threadgroup share an
 * output. */
struct VectorShape {
  uint32_t lane_rows;
  uint32_t split;
  uint32_t simdgroups;
};

/** Up to eight rows: 8 * lane_rows rows of the weight a simdgroup; `members` simdgroups share x, `split`
 * such teams of a threadgroup share an output. */
struct BatchShape {
  uint32_t lane_rows;
  uint32_t members;
  uint32_t split;

  uint32_t Simdgroups() const { return members * split; }
  /** x and its sums, and later those of the outputs, in metal/linear_batch.metal or linear_halves.metal.
   */
  uint32_t SharedBytes(bool is_half) const;
};

VectorShape PlanVector(const LinearOperand& op, const Device& device);
BatchShape PlanBatch(const LinearOperand& op, const Device& device);

/** The product of one row of x at a time; `op` has nothing left that needs a dispatch of its own. */
void LinearVector(Dispatcher& dispatcher, const LinearOperand& op, const VectorShape& shape);
/** The same for up to eight rows at once. */
void LinearBatch(Dispatcher& dispatcher, const LinearOperand& op, const BatchShape& shape);

/** Function constants and parameters that all kernels of linear share. */
Constants LinearConstants(const LinearOperand& op);
LinearParams LinearParamsOf(const LinearOperand& op);

}  // namespace anllm::metal
