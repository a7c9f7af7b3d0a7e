#include "measure.h"

namespace anllm::cuda {

using namespace metal;

namespace {

constexpr uint32_t kDim = 128, kTaps = 4;

struct Heads {
  const char* model;
  uint32_t key_heads, value_heads;
};
constexpr Heads kHeads[] = {{"Qwen3.5-0.8B", 16, 16}, {"Qwen3-Next", 16, 32}};

void BenchRows(Bench& bench, const Heads& shape, uint32_t rows) {
  const std::string what = std::to_string(rows) + " rows of the gated delta rule";
  if (!bench.Wants(shape.model, what)) return;
  StateLayerOperand layer{.key_heads = shape.key_heads,
                          .value_heads = shape.value_heads,
                          .key_dim = kDim,
                          .value_dim = kDim,
                          .taps = kTaps};
  const uint32_t channels = layer.Channels();
  const uint32_t stride = channels + 2 * shape.value_heads;
  const auto floats = [&](size_t count) {
    return RandomBuffer(bench.device, count * sizeof(float), kFloats);
  };
  const auto inputs = floats(size_t{kTaps - 1} * channels);
  const auto matrices = floats(size_t{shape.value_heads} * kDim * kDim);
  const auto x = floats(size_t{rows} * stride);
  const auto weights = floats(size_t{channels} * kTaps);
  const auto gates = floats(shape.value_heads);
  const auto out = floats(size_t{rows} * shape.value_heads * kDim);
  layer.inputs = ViewOf(inputs);
  layer.matrices = ViewOf(matrices);
  const auto ints = bench.device.NewBuffer(48);
  auto* words = reinterpret_cast<int32_t*>(ints->contents());
  words[0] = 1;  // goes on from a state
  words[5] = static_cast<int32_t>(rows);
  static_cast<CudaBuffer&>(*ints).Upload();
  const StepOperand step{.rows = rows,
                         .sequences = 1,
                         .positions = ViewOf(ints, 0, 16),
                         .offsets = ViewOf(ints, 16, 16),
                         .state_slots = ViewOf(ints, 32, 16)};
  const GatedDeltaOperand op{.x = {ViewOf(x)},
                             .conv = ViewOf(weights),
                             .decay = ViewOf(gates),
                             .time_bias = ViewOf(gates),
                             .out = {ViewOf(out)}};
  const ScratchBytes bytes = GatedDeltaScratchOf(layer, rows);
  const auto normalized = floats(bytes.normalized / sizeof(float));
  const auto parts = floats(bytes.parts / sizeof(float) + 4);
  const Scratch scratch{.normalized = ViewOf(normalized), .parts = ViewOf(parts)};
  const double moved = static_cast<double>(x->size() + out->size() + 2 * matrices->size());
  PrintRow(bench, shape.model, what, moved, TimesOf(bench, 10, [&](Dispatcher& dispatcher, size_t) {
             GatedDelta(dispatcher, step, op, layer, scratch);
           }));
  const GatedDeltaParams params{.key_heads = shape.key_heads,
                                .value_heads = shape.value_heads,
                                .key_dim = kDim,
                                .value_dim = kDim,
                                .taps = kTaps,
                                .channels = channels,
                                .x_stride = stride,
                                .chunked_rows = UINT32_MAX};
  PrintRow(bench, shape.model, what + ", one by one, without the convolution", moved,
           TimesOf(bench, 10, [&](Dispatcher& dispatcher, size_t) {
             dispatcher.Run({"gated_delta_step",
                             {.simdgroups = 4, .key_dim = kDim},
                             {kDim / 4, shape.value_heads, 1},
                             4 * kSimdWidth},
                            {op.x.view, scratch.normalized, op.decay, op.time_bias, step.positions,
                             step.offsets, step.state_slots, layer.matrices, op.out.view},
                            params);
           }));
}

}  // namespace

void BenchGatedDelta(Bench& bench) {
  for (const Heads& shape : kHeads) {
    for (const uint32_t rows : {1u, 16u, 128u, 512u}) BenchRows(bench, shape, rows);
  }
}

}  // namespace anllm::cuda
