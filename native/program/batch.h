/** The input of one step, checked and copied. */
#pragma once

#include <cstdint>
#include <vector>

#include "../kernels/step.h"
#include "plan.h"

namespace anllm::program {

struct Ints {
  const int32_t* data;
  int64_t size;
};

/** StepBatch of extension/engine/backend/backend.ts; points into memory of the caller. */
struct BatchView {
  Ints tokens;
  Ints positions;
  Ints offsets;
  Ints block_tables;
  int64_t blocks_per_sequence;
  Ints logit_rows;
  /** Empty for programs without state layers. */
  Ints state_slots;
};

class Batch {
 public:
  /** `block_tokens`: positions of a block of keys and values. */
  Batch(const Limits& limits, int64_t vocab_size, int64_t block_tokens);

  /** Copies a step's input. Throws Error bad_request when it does not fit the program or its memory. */
  void Assign(const BatchView& view);
  /** The input as ops see it, without the executable's own memory. */
  Step AsStep() const;

 private:
  void CheckSequences(const BatchView& view);

  const Limits limits_;
  const int64_t vocab_size_;
  const int64_t block_tokens_;
  std::vector<int32_t> tokens_, positions_, offsets_, sequence_of_, block_tables_, logit_rows_, state_slots_;
  int64_t blocks_per_sequence_ = 0;
  /**
   * For every block of the pool, the sequence of this step that writes to it plus one; zero between steps.
   */
  std::vector<int32_t> writer_;
};

}  // namespace anllm::program
