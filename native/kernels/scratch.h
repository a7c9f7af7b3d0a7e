/** Sizes of the memory that ops need beside their values; the planner reserves the largest. */
#pragma once

#include "inline.h"
#include "kernels.h"

namespace anllm {

/** Group sizes for which activations may be quantized. */
constexpr int64_t kGroupSizes[] = {16, 32, 64, 128};
constexpr int kNumGroupSizes = 4;

ANLLM_INLINE int64_t Align64(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/** Normalised rows of a linear's input. */
ANLLM_INLINE int64_t NormedBytes(int64_t rows, int64_t cols) {
  return Align64(rows * cols * 4);
}
ANLLM_INLINE int64_t CodesBytes(int64_t rows, int64_t cols) {
  return Align64(rows * cols);
}
/** Scales of quantized rows, and as much again for their sums. */
ANLLM_INLINE int64_t ScalesBytes(int64_t rows, int64_t cols, int64_t group_size) {
  return Align64(rows * (cols / group_size) * 4);
}
ANLLM_INLINE int64_t QuantizedBytes(int64_t rows, int64_t cols, int64_t group_size) {
  return CodesBytes(rows, cols) + 2 * ScalesBytes(rows, cols, group_size);
}
/** Most int8 planes of the activations. */
constexpr int kMaxPlanes = 2;
/** What describes the second plane. */
constexpr int64_t kPlaneBytes = 192;

/**
 * Rows that pass over a group of weight blocks together; these rows stay in the first or second level
 * cache.
 */
constexpr int64_t kPanelRows = 64;

/** Rows of one expert, or of the shared one, that pass over its weights together. */
struct ExpertPanel {
  int32_t expert;
  int32_t first;
  int32_t last;
};
/** Most panels of a step: each expert's rows end in an unfilled one. */
ANLLM_INLINE int64_t MaxExpertPanels(int64_t tokens, int64_t top_k, int64_t experts) {
  const int64_t entries = tokens * top_k;
  return (entries < experts ? entries : experts) + entries / kPanelRows + tokens / kPanelRows + 1;
}
/** Rows in the order of their experts, where each expert's begin, and the panels. */
ANLLM_INLINE int64_t AssignmentBytes(int64_t tokens, int64_t top_k, int64_t experts) {
  const int64_t panels = MaxExpertPanels(tokens, top_k, experts) * static_cast<int64_t>(sizeof(ExpertPanel));
  return Align64((tokens * top_k + experts + 1) * 4) + Align64(panels);
}

/** Weights and ids of a row of logits. */
ANLLM_INLINE int64_t SampleThreadBytes(int64_t columns) {
  return Align64(columns * 8);
}

/** Channels of a Gated DeltaNet's convolution: q, k and v side by side. */
ANLLM_INLINE int64_t ChannelsOf(const StateLayer& state) {
  return 2 * state.key_heads * state.key_dim + state.value_heads * state.value_dim;
}

/** Most taps of a Gated DeltaNet's convolution. */
constexpr int64_t kMaxTaps = 16;
/** Of a row of a Gated DeltaNet: its convolved channels, and two gates a value head. */
ANLLM_INLINE int64_t GatedDeltaRowBytes(const StateLayer& state) {
  return (ChannelsOf(state) + 2 * state.value_heads) * 4;
}

/** Keys whose scores are held at a time; partial results of attention begin at multiples of it. */
constexpr int64_t kKeyChunk = 128;
/** Query rows (tokens times query heads of one key/value head) that share a pass over the keys. */
constexpr int64_t kQueryRows = 32;
/** Most memory for partial results of attention; a step that would need more splits its work less. */
constexpr int64_t kMaxPartialBytes = int64_t{16} << 20;

/**
 * Floats of one query row that has seen some keys: the values' weighted sum, then maximum and sum of the
 * weights.
 */
ANLLM_INLINE int64_t PartialFloats(int64_t value_stride) {
  return value_stride + 16;
}
/** A thread's queries, scores, and two sets of partial results. */
ANLLM_INLINE int64_t AttentionThreadBytes(int64_t key_dim, int64_t value_stride) {
  return Align64(kQueryRows * (key_dim + kKeyChunk + 2 * PartialFloats(value_stride)) * 4);
}

}  // namespace anllm
