/** A program with every operand resolved to memory. */
#pragma once

#include "../aligned_buffer.h"
#include "../weights/load.h"
#include "kv_pool.h"
#include "plan.h"
#include "rope_tables.h"
#include "state_pool.h"

namespace anllm::program {

using BoundOp = std::variant<EmbedOp, NormOp, LinearOp, GluOp, ActivationOp, RopeOp, KvWriteOp,
                             AttentionPrepareOp, LatentPrepareOp, AttentionOp, GatedDeltaOp, MoeRouteOp,
                             MoeLinearOp, MoeGluOp, AddOp, ScaleOp, GatherRowsOp>;

struct BoundProgram {
  std::vector<BoundOp> ops;
  const float* logits;
  /** [T, hidden_cols]; null: the program leaves none. */
  const float* hidden;
  int64_t hidden_cols;

  RopeTables ropes;
  uint8_t* scratch;
  uint8_t* thread_scratch;
  int64_t thread_scratch_bytes;
  /** Values, rope tables and scratch memory. */
  AlignedBuffer arena;

  // What ops point to; deques keep addresses.
  std::deque<Norm> norms;
  std::deque<Join> joins;
  std::deque<std::vector<Matrix>> experts;
  std::deque<std::vector<LinearPart>> parts;
};

/** How ops are run. */
struct Modes {
  /** int8 planes of the activations for quantized weights; 0: float32. */
  int planes;
  /** Threads may share the keys of a query row, so that decoding has work for all of them. */
  bool decode_attention;
};

/**
 * Plans and allocates all memory that steps need; afterwards no step allocates. `weights`, `kv` and
 * `states` must outlive the result. Throws Error out_of_memory.
 */
BoundProgram Bind(const Program& program, const weights::LoadedWeights& weights, const KvPool& kv,
                  const StatePool& states, const Limits& limits, const Modes& modes, int threads);

}  // namespace anllm::program
