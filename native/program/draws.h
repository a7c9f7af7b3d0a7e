/** Which rows of logits of a step are drawn from, and how; checked and copied. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/draw.h"

namespace anllm::program {

/** As extension/engine/backend/native.ts writes them; points into memory of the caller. */
struct DrawsView {
  /** A record of kDrawFields a row of logits, or nothing: all logits are wanted. */
  const double* fields = nullptr;
  int64_t num_fields = 0;
  const uint32_t* masks = nullptr;
  int64_t mask_words = 0;
  /** Tokens that may be drawn: the first ones. */
  int64_t columns = 0;
};

/** Draws (0 or 1), temperature, top-k, top-p, min-p, seed, index, number of the mask or -1. */
constexpr int64_t kDrawFields = 8;

class Draws {
 public:
  /** Throws Error bad_request. */
  void Assign(const DrawsView& view, int64_t logit_rows, int64_t vocab_size);

  /** [R]; empty: all logits are wanted. */
  const std::vector<Draw>& rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  /** All masks, one after the other, and the words of each. */
  const std::vector<uint32_t>& masks() const { return masks_; }
  int64_t words() const { return (columns_ + 31) / 32; }
  bool IsWanted(int64_t row) const { return !rows_.empty() && rows_[static_cast<size_t>(row)].is_wanted; }
  bool any() const;

 private:
  std::vector<Draw> rows_;
  std::vector<uint32_t> masks_;
  int64_t columns_ = 0;
};

}  // namespace anllm::program
