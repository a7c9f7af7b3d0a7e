/** Where the values of a program lie in memory. */
#pragma once

#include <set>

#include "program.h"

namespace anllm::program {

struct Limits {
  int64_t max_tokens;
  int64_t max_logit_rows;
  /** Size of the key/value pool in blocks of kKvBlock tokens. */
  int64_t kv_blocks;
  /** Slots for recurrent state. */
  int64_t state_slots;
};

struct Plan {
  /** Byte offset of every value; values that are not alive at the same time may share bytes. */
  std::vector<int64_t> offsets;
  int64_t bytes;
};

/**
 * A value lives from the instruction that writes it to the last one that reads it; the logits and the hidden
 * states live to the end. `joined`: instructions that run as one with the next, so that what either of them
 * reads or writes lives through both.
 */
Plan PlanMemory(const Program& program, const Limits& limits, const std::set<int64_t>& joined = {});

}  // namespace anllm::program
