/**
 * The unit of attention's work: some neighbouring tokens of a sequence and the query heads of one key/value
 * head.
 */
#pragma once

#include "../shared/parallel.h"

namespace anllm::ANLLM_ISA {

/** Query row r is token first_token + r / heads and head first_head + r % heads. */
struct QueryTile {
  int64_t sequence;
  int64_t first_token;  // row of the step
  int64_t tokens;
  int64_t kv_head;
  int64_t first_head;
  int64_t heads;

  ANLLM_INLINE int64_t rows() const { return tokens * heads; }
};

/** Positions that a query at `position` sees: [begin, end). */
struct KeyRange {
  int64_t begin;
  int64_t end;
};

ANLLM_INLINE KeyRange VisibleKeys(const AttentionOp& op, int64_t position) {
  return {op.window > 0 ? Larger(0, position + 1 - op.window) : 0, position + 1};
}

/** The union of what the rows of a tile see. */
ANLLM_INLINE KeyRange VisibleKeys(const AttentionOp& op, const Step& step, const QueryTile& tile) {
  const int64_t first = step.positions[tile.first_token];
  return {VisibleKeys(op, first).begin, first + tile.tokens};
}

ANLLM_INLINE KeyRange Intersect(KeyRange a, KeyRange b) {
  return {Larger(a.begin, b.begin), Smaller(a.end, b.end)};
}

}  // namespace anllm::ANLLM_ISA
