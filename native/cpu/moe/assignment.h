/** Which rows go to which expert. */
#pragma once

#include "../../kernels/scratch.h"
#include "../matmul/blocks.h"

namespace anllm::ANLLM_ISA {

/** In the place of an expert's number: the shared expert, to which all rows go. */
constexpr int32_t kSharedExpert = -1;

/**
 * A row and a slot of its route are an entry, row * top_k + slot. Entries stand in the order of their
 * experts, so that an expert's rows lie together; the panels of experts count in entries, those of the shared
 * expert in rows.
 */
struct Assignment {
  const int32_t* entries;
  const ExpertPanel* panels;
  int64_t num_panels;
};

/** Of the step's tokens by their route [T, 2 * top_k + 1]; memory at `*free`, which moves behind it. */
Assignment AssignRows(const float* route, const Step& step, int64_t experts, int64_t top_k, bool has_shared,
                      uint8_t** free);

/** Rows of all slots: slot s of row r begins at x + r * stride + s * slot_stride. */
struct SlotRows {
  const float* x;
  int64_t stride;
  int64_t slot_stride;
  int64_t top_k;
  int64_t cols;
};

/**
 * The rows of all entries in their order, as floats and in the wanted forms; tiles begin anew with each
 * panel. Memory at `*free`, which moves behind it.
 */
Activations GatherSlots(const SlotRows& rows, const Assignment& assignment, bool has_floats,
                        const Forms& forms, const Step& step, uint8_t** free);

/** Rows [first_row, first_row + rows) of a matrix: one expert's. */
struct ExpertSlice {
  const Matrix* matrix;
  int64_t first_row;
  int64_t rows;
  const float* bias;  // [rows] or null

  ANLLM_INLINE int64_t FirstBlock() const { return first_row / kBlockRows; }
  ANLLM_INLINE int64_t EndBlock() const { return CeilDivide(first_row + rows, kBlockRows); }
};

ANLLM_INLINE ExpertSlice SliceOf(const ExpertWeights& weights, int32_t expert) {
  if (expert == kSharedExpert) return {&weights.shared, 0, weights.shared.rows, nullptr};
  const float* bias = weights.bias == nullptr ? nullptr : weights.bias + expert * weights.rows;
  return {weights.matrices + expert / weights.experts_per_matrix,
          expert % weights.experts_per_matrix * weights.rows, weights.rows, bias};
}

/** The part of a block of 16 rows that is an expert's: `count` lanes from `first` on are its columns of out.
 */
struct BlockLanes {
  int64_t column;
  int first;
  int count;

  BlockLanes(const ExpertSlice& slice, int64_t block) {
    const int64_t begin = Larger(slice.first_row, block * kBlockRows);
    const int64_t end = Smaller(slice.first_row + slice.rows, (block + 1) * kBlockRows);
    column = begin - slice.first_row;
    first = static_cast<int>(begin - block * kBlockRows);
    count = static_cast<int>(end - begin);
  }

  /** Of 16 sums, those of these lanes, plus the bias. */
  ANLLM_INLINE F32 Take(const float* sums, const float* bias) const {
    const F32 y = LoadLanes(sums + first, count);
    return bias == nullptr ? y : y + LoadLanes(bias + column, count);
  }
};

/** body(panel, first_block, last_block): covers all blocks of the expert of every panel. */
template <class Body>
ANLLM_INLINE void ForPanels(const Step& step, const Assignment& assignment, const ExpertWeights& weights,
                            Body body) {
  const int64_t groups = CeilDivide(kTasksPerThread * step.threads, assignment.num_panels);
  For(step, assignment.num_panels * groups, [&](int64_t task, int) {
    const ExpertPanel& panel = assignment.panels[task / groups];
    const ExpertSlice slice = SliceOf(weights, panel.expert);
    const int64_t first = slice.FirstBlock();
    const int64_t blocks = slice.EndBlock() - first;
    const int64_t group = task % groups;
    body(panel, first + blocks * group / groups, first + blocks * (group + 1) / groups);
  });
}

/** Adds what the experts' matrices need; true when one of them needs floats. */
ANLLM_INLINE bool AddExpertForms(const ExpertWeights& weights, int64_t experts, int planes, Forms* forms) {
  bool has_floats = false;
  for (int64_t i = 0; i < experts / weights.experts_per_matrix; i++) {
    AddForm(weights.matrices[i], planes, forms);
    has_floats |= planes == 0 || weights.matrices[i].coding == Coding::kFloats;
  }
  return has_floats;
}

}  // namespace anllm::ANLLM_ISA
