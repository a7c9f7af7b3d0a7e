/** Helpers of the ops: parallel loops, row counts, and loops over vectors with a tail. */
#pragma once

#include "../../kernels/kernels.h"
#include "../../simd/simd.h"

namespace anllm::ANLLM_ISA {

/** body(index, thread) for every index below count, on all threads. */
template <class Body>
ANLLM_INLINE void For(const Step& step, int64_t count, Body body) {
  ParallelFor(
      step.pool, count,
      [](void* context, int64_t index, int thread) { (*static_cast<Body*>(context))(index, thread); }, &body);
}

ANLLM_INLINE int64_t Smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
ANLLM_INLINE int64_t Larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
ANLLM_INLINE int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
ANLLM_INLINE int64_t CountRows(const Step& step, Rows rows) {
  return rows == Rows::kTokens ? step.tokens : step.logit_rows;
}

/**
 * Rows that one task of a light, row-wise op takes: enough to be worth the hand-over, few enough to share.
 */
ANLLM_INLINE int64_t RowsPerTask(int64_t rows, int64_t cols, int threads) {
  constexpr int64_t kElementsPerTask = 8192;
  const int64_t share = CeilDivide(rows, 4 * threads);
  return Larger(1, Larger(share, kElementsPerTask / cols));
}

/** body(first_row, last_row, thread) over ranges of rows. */
template <class Body>
ANLLM_INLINE void ForRows(const Step& step, int64_t rows, int64_t cols, Body body) {
  const int64_t per_task = RowsPerTask(rows, cols, step.threads);
  For(step, CeilDivide(rows, per_task),
      [&](int64_t task, int thread) { body(task * per_task, Smaller(rows, (task + 1) * per_task), thread); });
}

/** body(offset, lanes) over n elements, 16 lanes at a time and the rest last. */
template <class Body>
ANLLM_INLINE void ForVectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, static_cast<int>(n - i));
}

template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

/**
 * body(index, Count<n>) over `count` things, as many as possible in groups of kSize, the rest in ever
 * halved groups.
 */
template <int kSize, class Body>
ANLLM_INLINE void ForGroups(int64_t count, Body body, int64_t index = 0) {
  for (; index + kSize <= count; index += kSize) body(index, Count<kSize>{});
  if constexpr (kSize > 1) ForGroups<kSize / 2>(count, body, index);
}

ANLLM_INLINE F32 LoadLanes(const float* p, int n) {
  return n == 16 ? Load(p) : LoadPartial(p, n);
}
ANLLM_INLINE void StoreLanes(float* p, F32 x, int n) {
  if (n == 16) {
    Store(p, x);
  } else {
    StorePartial(p, x, n);
  }
}

}  // namespace anllm::ANLLM_ISA
