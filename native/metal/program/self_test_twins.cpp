#include "self_test_twins.h"

#include "../../aligned_buffer.h"
#include "../../kernels/scratch.h"
#include "../../kernels/select.h"
#include "../../thread_pool.h"
#include "step_input.h"

namespace anllm::metal {

double TestGatedDelta(Bench& bench, uint32_t rows) {
  constexpr uint32_t kHeads = 2, kKeyDim = 24, kValueDim = 40, kTaps = 3;
  const StateLayerOperand layer{
      .inputs = bench.Allocate(size_t{kTaps} * 256 * sizeof(float)),
      .matrices = bench.Allocate(size_t{kHeads} * kKeyDim * kValueDim * sizeof(float)),
      .key_heads = 1,
      .value_heads = kHeads,
      .key_dim = kKeyDim,
      .value_dim = kValueDim,
      .taps = kTaps};
  const uint32_t channels = layer.Channels();
  const std::vector<float> x = bench.Numbers(size_t{rows} * (channels + 2 * kHeads));
  const std::vector<float> conv = bench.Numbers(size_t{channels} * kTaps);
  const std::vector<float> decay = bench.Numbers(kHeads);
  const std::vector<float> time_bias = bench.Numbers(kHeads);
  std::vector<int32_t> positions;
  for (uint32_t row = 0; row < rows; row++) positions.push_back(static_cast<int32_t>(row));
  const std::vector<int32_t> offsets = {0, static_cast<int32_t>(rows)};
  const std::vector<int32_t> zeros(rows, 0);

  std::vector<float> expected(size_t{rows} * kHeads * kValueDim);
  std::vector<float> inputs(size_t{kTaps} * channels);
  std::vector<float> matrices(size_t{kHeads} * kKeyDim * kValueDim);
  const AlignedBuffer memory(
      rows * static_cast<size_t>(GatedDeltaRowBytes(
                 {.key_heads = 1, .value_heads = kHeads, .key_dim = kKeyDim, .value_dim = kValueDim})),
      "the self-test");
  ThreadPool pool(1);
  SelectKernels("")->gated_delta({.x = x.data(),
                                  .stride = channels + 2 * kHeads,
                                  .conv = conv.data(),
                                  .decay = decay.data(),
                                  .time_bias = time_bias.data(),
                                  .out = expected.data(),
                                  .state = {.inputs = inputs.data(),
                                            .matrices = matrices.data(),
                                            .key_heads = 1,
                                            .value_heads = kHeads,
                                            .key_dim = kKeyDim,
                                            .value_dim = kValueDim,
                                            .taps = kTaps}},
                                 {.tokens = rows,
                                  .sequences = 1,
                                  .positions = positions.data(),
                                  .offsets = offsets.data(),
                                  .sequence_of = zeros.data(),
                                  .state_slots = zeros.data(),
                                  .pool = &pool,
                                  .threads = 1,
                                  .scratch = memory.data()});

  const StepOperand step{.rows = rows,
                         .sequences = 1,
                         .positions = bench.Place(positions),
                         .offsets = bench.Place(offsets),
                         .state_slots = bench.Place(zeros)};
  const GatedDeltaOperand op{.x = {bench.Place(x)},
                             .conv = bench.Place(conv),
                             .decay = bench.Place(decay),
                             .time_bias = bench.Place(time_bias),
                             .out = {bench.Allocate(expected.size() * sizeof(float))}};
  const ScratchBytes bytes = GatedDeltaScratchOf(layer, rows);
  const Scratch scratch{.normalized = bench.Allocate(bytes.normalized),
                        .parts = bench.Allocate(std::max<size_t>(bytes.parts, 16))};
  bench.Run([&](Dispatcher& dispatcher) { GatedDelta(dispatcher, step, op, layer, scratch); });
  return ErrorOf(op.out.view, {expected.begin(), expected.end()});
}

double TestSample(Bench& bench) {
  // More than a threadgroup looks at at once, and flat enough that hundreds of tokens count.
  constexpr uint32_t kColumns = 3000, kDraws = 24;
  std::vector<float> logits = bench.Numbers(kColumns);
  for (float& logit : logits) logit *= 4;
  std::vector<uint32_t> mask((kColumns + 31) / 32);
  for (size_t word = 0; word < mask.size(); word++) mask[word] = 0x9249u << word % 7;
  std::vector<Draw> draws;
  for (uint32_t i = 0; i < kDraws; i++) {
    draws.push_back({.is_wanted = true,
                     .temperature = i < 2 ? 0.0f : 0.7f,
                     .top_k = i % 4 == 2 ? 20 : 0,
                     .top_p = i % 4 == 3 ? 0.9 : 1.0,
                     .min_p = i % 8 == 4 ? 0.05 : 0.0,
                     .seed = i,
                     .index = uint64_t{7} * i,
                     .allowed = i % 3 == 1 ? mask.data() : nullptr});
  }
  const std::vector<int32_t> zeros(kDraws, 0);
  std::vector<int32_t> expected(kDraws);
  const AlignedBuffer memory(static_cast<size_t>(SampleThreadBytes(kColumns)), "the self-test");
  ThreadPool pool(1);
  SelectKernels("")->sample({.logits = logits.data(),
                             .stride = 0,
                             .columns = kColumns,
                             .draws = draws.data(),
                             .ids = expected.data(),
                             .memory = memory.data()},
                            {.logit_rows = kDraws, .pool = &pool, .threads = 1});

  std::vector<uint32_t> records(kDraws * DRAW_WORDS);
  for (uint32_t i = 0; i < kDraws; i++)
    EncodeDraw(draws[i], {.row = i, .columns = kColumns, .mask = draws[i].allowed == nullptr ? 0u : 1u},
               records.data() + i * DRAW_WORDS);
  const DrawOperand op{.count = kDraws,
                       .columns = kColumns,
                       .draws = bench.Place(records),
                       .masks = bench.Place(mask),
                       .mask_words = static_cast<uint32_t>(mask.size())};
  // A stride of 0: all draws are from this row.
  const BufferView row = bench.Place(logits);
  const BufferView ids = bench.Allocate(kDraws * sizeof(int32_t));
  bench.Run([&](Dispatcher& dispatcher) { Sample(dispatcher, op, row, 0, ids); });
  const auto* got = reinterpret_cast<const int32_t*>(ids.buffer->contents());
  double wrong = 0;
  for (uint32_t i = 0; i < kDraws; i++) wrong += got[i] == expected[i] ? 0 : 1;
  return wrong / kDraws;
}

}  // namespace anllm::metal
