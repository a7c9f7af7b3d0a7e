/** A program whose operands are resolved to buffers: what is left to a step are its rows. */
#pragma once

#include <functional>

#include "../../program/plan.h"
#include "../ops.h"
#include "hazards.h"
#include "step_input.h"
#include "weights.h"

namespace anllm::metal {

/** What one command sees of the running step. */
struct StepContext {
  Dispatcher& dispatcher;
  const StepInput& input;
  Scratch scratch;
};

/** One instruction. Rows of a step: T or R of them. */
struct Command {
  Rows rows = Rows::kTokens;
  Accesses accesses;
  /** Called for at least one row. */
  std::function<void(const StepContext&, uint32_t rows)> encode;
  /** Empty: none is used. */
  std::function<ScratchBytes(uint32_t rows)> scratch;
  /** Read for a step of one row. */
  int64_t weight_bytes = 0;
  /** Multiplications a row. */
  int64_t multiplies = 0;
};

/** Keys and values of a layer, or its recurrent state; each in a buffer of its own. */
struct KvMemory {
  KvLayerOperand operand;
  /** Of one block. */
  size_t key_bytes = 0;
  size_t value_bytes = 0;
};
struct StateMemory {
  StateLayerOperand operand;
  /** Of one slot. */
  size_t input_bytes = 0;
  size_t matrix_bytes = 0;
};

struct BoundProgram {
  std::vector<Command> commands;
  std::vector<KvMemory> kv_layers;
  std::vector<StateMemory> state_layers;
  /** float32 [R, vocab_size] */
  BufferView logits;
  /** int32 [R]: what was drawn, of those rows that are drawn from. */
  BufferView drawn;
  /** float32 [T, hidden_cols]; no columns: the program leaves none. */
  BufferView hidden;
  int64_t hidden_cols = 0;
  Scratch scratch;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

/** What numbers are between the ops of a program. */
struct Numbers {
  /** binary16 within layers; else float32 throughout. */
  bool is_fast;
  /** Of keys and values: DTYPE_F32, DTYPE_F16 or DTYPE_I8. */
  DType kv_type;
};

/**
 * Allocates all memory that steps need. `weights` outlive the result and are to be read before it runs.
 * Throws Error unsupported or unavailable.
 */
BoundProgram Bind(Device& device, const program::Program& program, Weights& weights,
                  const program::Limits& limits, Numbers numbers);

}  // namespace anllm::metal
