#include "measure.h"

namespace anllm::cuda {

using namespace metal;

namespace {

constexpr uint32_t kDim = 128;

struct Heads {
  const char* model;
  uint32_t heads, kv_heads;
};
constexpr Heads kHeads[] = {{"0.6B", 16, 8}, {"4B, 8B", 32, 8}, {"30B-A3B", 32, 4}};

void BenchContext(Bench& bench, const Heads& shape, uint32_t context) {
  const std::string what = "attention over " + std::to_string(context) + " keys";
  if (!bench.Wants(shape.model, what)) return;
  const size_t half = size_t{context} * shape.kv_heads * kDim * 2;
  const size_t copies = bench.pool->size() / (2 * half);
  const uint32_t blocks = context / BLOCK_TOKENS;
  const auto ints = bench.device.NewBuffer((blocks + 16) * 4);
  auto* words = reinterpret_cast<int32_t*>(ints->contents());
  for (uint32_t i = 0; i < blocks; i++) words[16 + i] = static_cast<int32_t>(blocks - 1 - i);
  words[4] = static_cast<int32_t>(context - 1);
  static_cast<CudaBuffer&>(*ints).Upload();
  const auto q = RandomBuffer(bench.device, size_t{shape.heads} * kDim * 2, kHalves);
  const auto out = bench.device.NewBuffer(size_t{shape.heads} * kDim * 2);
  const StepOperand step{.rows = 1,
                         .sequences = 1,
                         .tokens = ViewOf(ints, 0, 4),
                         .positions = ViewOf(ints, 16, 4),
                         .sequence_of = ViewOf(ints, 0, 4),
                         .block_tables = ViewOf(ints, 64, size_t{blocks} * 4),
                         .blocks_per_sequence = blocks};
  const AttentionWork work{.row_count = 1, .rows = ViewOf(ints, 0, 4), .longest = context};
  const AttentionOperand op{
      .heads = shape.heads, .scale = 0.088f, .q = {ViewOf(q), DTYPE_F16}, .out = {ViewOf(out), DTYPE_F16}};
  const auto layer_at = [&](size_t i) {
    return KvLayerOperand{.keys = ViewOf(bench.pool, i * 2 * half, half),
                          .values = ViewOf(bench.pool, i * 2 * half + half, half),
                          .type = DTYPE_F16,
                          .kv_heads = shape.kv_heads,
                          .key_dim = kDim,
                          .value_dim = kDim};
  };
  // A second pass may overlap the next read's first one, which writes other partial sums.
  std::unique_ptr<Buffer> parts[2];
  for (auto& buffer : parts) {
    buffer = bench.device.NewBuffer(AttentionScratchOf(op, work, layer_at(0)) + 16);
  }
  const Times times = TimesOf(bench, copies, [&](Dispatcher& dispatcher, size_t i) {
    Attention(dispatcher, step, work, op, layer_at(i), {.parts = ViewOf(parts[i % 2])});
  });
  PrintRow(bench, shape.model, what, 2.0 * static_cast<double>(half), times);
}

}  // namespace

void BenchAttention(Bench& bench) {
  for (const Heads& shape : kHeads) {
    for (const uint32_t context : {1024u, 2048u, 8192u, 32768u}) BenchContext(bench, shape, context);
  }
}

}  // namespace anllm::cuda
