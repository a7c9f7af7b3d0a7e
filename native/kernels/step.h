/** What an op sees of the running step. Plain data, as in matrix.h. */
#pragma once

#include <stdint.h>

namespace anllm {

class ThreadPool;

/** Symbolic row count of a value. */
enum class Rows : uint8_t { kTokens, kLogits };

/** Tokens in one block of keys and values. */
constexpr int64_t kKvBlock = 32;

/** cos and sin of every position of a step, times the spec's scale: [T][pairs]. */
struct RopeTable {
  const float* cos;
  const float* sin;
  int64_t pairs;
  bool interleaved;
  int64_t start;  // first rotated column of a head
};

/** Runs task(context, index, thread) for every index below count on all threads. */
void ParallelFor(ThreadPool* pool, int64_t count, void (*task)(void*, int64_t, int), void* context);

struct Step {
  int64_t tokens;               // T
  int64_t logit_rows;           // R
  int64_t sequences;            // S
  const int32_t* token_ids;     // [T]
  const int32_t* positions;     // [T]
  const int32_t* offsets;       // [S + 1]
  const int32_t* sequence_of;   // [T]
  const int32_t* block_tables;  // [S][blocks_per_sequence]
  int64_t blocks_per_sequence;
  const int32_t* gathered_rows;  // [R]
  const int32_t* state_slots;    // [S], of programs with state layers

  ThreadPool* pool;
  int threads;
  /** Memory of the running op; ops follow each other, so they share it. */
  uint8_t* scratch;
  /** Memory of one thread within the running op, thread_scratch_bytes apart. */
  uint8_t* thread_scratch;
  int64_t thread_scratch_bytes;
};

}  // namespace anllm
