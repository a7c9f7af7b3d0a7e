#include "../error.h"
#include "ops.h"

namespace anllm::metal {
namespace {

/** MAX_TAPS of metal/gated_delta.metal. */
constexpr uint32_t kMaxTaps = 8;
constexpr uint32_t kSimdgroups = 4;
/** Columns of a state that a threadgroup keeps, chunk by chunk. */
constexpr uint32_t kChunkColumns = 32;
/** A chunk costs about as much as so many rows, one after the other. */
constexpr uint32_t kChunkedRows = DELTA_CHUNK;
static_assert(kChunkedRows >= CHUNK_SPACING);

bool HasChunks(const StateLayerOperand& layer) {
  return layer.key_dim <= MAX_CHUNK_KEY_DIM;
}

}  // namespace

ScratchBytes GatedDeltaScratchOf(const StateLayerOperand& layer, uint32_t rows) {
  const size_t chunks = HasChunks(layer) ? rows / CHUNK_SPACING : 0;
  return {.normalized = size_t{rows} * layer.Channels() * sizeof(float),
          .parts = chunks * layer.value_heads * CHUNK_FLOATS * sizeof(float)};
}

void GatedDelta(Dispatcher& dispatcher, const StepOperand& step, const GatedDeltaOperand& op,
                const StateLayerOperand& layer, const Scratch& scratch) {
  if (layer.key_dim > MAX_HEAD_DIM || layer.taps > kMaxTaps || layer.taps == 0) {
    throw Unsupported("[gated_delta] key dimension " + std::to_string(layer.key_dim) + " and " +
                      std::to_string(layer.taps) + " taps: expected at most " + std::to_string(MAX_HEAD_DIM) +
                      " and 1 to " + std::to_string(kMaxTaps));
  }
  const uint32_t channels = layer.Channels();
  const Constants constants{
      .x_type = op.x.type, .out_type = op.out.type, .simdgroups = kSimdgroups, .key_dim = layer.key_dim};
  const GatedDeltaParams params{.key_heads = layer.key_heads,
                                .value_heads = layer.value_heads,
                                .key_dim = layer.key_dim,
                                .value_dim = layer.value_dim,
                                .taps = layer.taps,
                                .channels = channels,
                                .x_stride = StrideOf(op.x, channels + 2 * layer.value_heads),
                                .tiled = layer.tiled ? 1u : 0u,
                                .chunked_rows = HasChunks(layer) ? kChunkedRows : UINT32_MAX};
  // All that is known here of the longest sequence.
  const uint32_t longest = step.rows - step.sequences + 1;
  dispatcher.Run(
      {"gated_delta_convolve",
       constants,
       {DivideUp(channels, ELEMENT_THREADS), step.sequences, DivideUp(longest, CONVOLVED_ROWS)},
       ELEMENT_THREADS},
      {op.x.view, op.conv, step.positions, step.offsets, step.state_slots, layer.inputs, scratch.normalized},
      params);
  dispatcher.Barrier();
  const bool has_long = longest >= params.chunked_rows;
  if (!has_long || step.sequences > 1) {
    dispatcher.Run({"gated_delta_step",
                    constants,
                    {DivideUp(layer.value_dim, kSimdgroups), layer.value_heads, step.sequences},
                    kSimdgroups * kSimdWidth},
                   {op.x.view, scratch.normalized, op.decay, op.time_bias, step.positions, step.offsets,
                    step.state_slots, layer.matrices, op.out.view},
                   params);
  }
  if (!has_long) return;
  dispatcher.Run({"gated_delta_prepare",
                  constants,
                  {DivideUp(longest, DELTA_CHUNK), layer.key_heads, step.sequences},
                  kSimdgroups * kSimdWidth},
                 {op.x.view, scratch.normalized, op.decay, op.time_bias, step.offsets, scratch.parts},
                 params);
  dispatcher.Barrier();
  dispatcher.Run({"gated_delta_chunk",
                  constants,
                  {DivideUp(layer.value_dim, kChunkColumns), layer.value_heads, step.sequences},
                  kSimdgroups * kSimdWidth},
                 {scratch.normalized, scratch.parts, step.positions, step.offsets, step.state_slots,
                  layer.matrices, op.out.view},
                 params);
}

}  // namespace anllm::metal
