/** How the simdgroups of a GPU divide a matrix product of few rows. */
#pragma once

#include <optional>

#include "ops.h"

namespace anllm::metal {

/** One row: SETS * lane_rows rows of the weight a simdgroup; `split` simdgroups of a threadgroup share an
 * output. */
struct VectorShape {
  uint32_t lane_rows;
  uint32_t split;
  uint32_t simdgroups;
};

/** One row with a small weight: each of `simdgroups` takes `rounds` slices of the columns, and a lane
 * `lane_rows` rows of the weight (metal/linear_slices.metal). */
struct SliceShape {
  uint32_t lane_rows;
  uint32_t simdgroups;
  uint32_t rounds;
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

/** Up to eight rows with a small weight: 8 * lane_rows rows of it a threadgroup, whose simdgroups
 * share the columns (metal/linear_parts.metal). */
struct PartShape {
  uint32_t lane_rows;
  uint32_t simdgroups;
};

/** Whether x are halves that no norm changes. */
bool HasPlainHalves(const LinearOperand& op);

VectorShape PlanVector(const LinearOperand& op, const Device& device);
BatchShape PlanBatch(const LinearOperand& op, const Device& device);
/** Where a product is small enough that the time is that of memory to answer; else nothing. */
std::optional<SliceShape> PlanSlices(const LinearOperand& op, const Device& device);
std::optional<PartShape> PlanParts(const LinearOperand& op, const Device& device);

/** The product of one row of x at a time; `op` has nothing left that needs a dispatch of its own. */
void LinearVector(Dispatcher& dispatcher, const LinearOperand& op, const VectorShape& shape);
void LinearSlices(Dispatcher& dispatcher, const LinearOperand& op, const SliceShape& shape);
/** The same for up to eight rows at once. */
void LinearBatch(Dispatcher& dispatcher, const LinearOperand& op, const BatchShape& shape);
void LinearParts(Dispatcher& dispatcher, const LinearOperand& op, const PartShape& shape);

/** Function constants and parameters that all kernels of linear share. */
Constants LinearConstants(const LinearOperand& op);
LinearParams LinearParamsOf(const LinearOperand& op);

}  // namespace anllm::metal
