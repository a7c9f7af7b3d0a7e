/** A program that a backend has made ready to run, as the session sees it. */
#pragma once

#include <atomic>

#include "block_memory.h"
#include "draws.h"
#include "state_slots.h"

namespace anllm::program {

/** [rows, cols] */
struct HiddenStates {
  const float* data;
  int64_t rows;
  int64_t cols;
};

class Executable {
 public:
  Executable() = default;
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /** Of the CPU that work on a step. */
  virtual int threads() const = 0;
  /** Weight bytes read for one decoded token. */
  virtual int64_t bytes_per_token() const = 0;
  virtual int64_t vocab_size() const = 0;

  /** The input of the next `Run`; not while one runs. Throws Error bad_request. */
  virtual void Assign(const BatchView& batch, const DrawsView& draws) = 0;
  /** The keys and values of all layers. */
  virtual BlockMemory blocks() const = 0;
  /** The recurrent states of all layers, a block a slot. */
  virtual BlockMemory states() const = 0;
  /** What the slots stand for. */
  virtual StateSlots& state_slots() = 0;
  /**
   * Number of int8 planes of the activations for quantized weights, where they were rounded at all: of what
   * attention compares and mixes, and of all other ops. Not while a step runs.
   */
  virtual void SetPlanes(int attention, int others) = 0;
  /** Runs all ops; false when `cancelled` was true between two of them. */
  virtual bool Run(const std::atomic<bool>& cancelled) = 0;
  /** [logit_rows, vocab_size] of the last run. */
  virtual const float* logits() const = 0;
  virtual int64_t logit_rows() const = 0;
  /** Of the last run or the next one. */
  virtual const Draws& draws() const = 0;
  /** [logit_rows] of the last run, where a row was drawn from; -1 where its logits are not numbers. */
  virtual const int32_t* drawn() const = 0;
  /** Of the last run; empty for programs that leave none. */
  virtual HiddenStates hidden() const = 0;
};

}  // namespace anllm::program
