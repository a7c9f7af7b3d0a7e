#include "measure.h"

namespace anllm::cuda {

using namespace metal;

namespace {

constexpr uint32_t kDim = 128;
constexpr uint32_t kMostRows = 8;

struct Heads {
  const char* model;
  uint32_t heads, kv_heads;
};
constexpr Heads kHeads[] = {{"0.6B", 16, 8}, {"4B, 8B", 32, 8}, {"30B-A3B", 32, 4}};

/** `rows` sequences of `context` keys each. */
void BenchContext(Bench& bench, const Heads& shape, uint32_t rows, uint32_t context, DType type) {
  std::string what = "attention over " + std::to_string(context) + " keys";
  if (type == DTYPE_I8) what += " of 8 bits";
  if (rows > 1) what += ", " + std::to_string(rows) + " rows";
  if (!bench.Wants(shape.model, what)) return;
  const size_t slot_bytes = type == DTYPE_I8 ? kDim + code_groups(kDim) * sizeof(float) : kDim * 2;
  const size_t half = size_t{rows} * context * shape.kv_heads * slot_bytes;
  const size_t copies = bench.pool->size() / (2 * half);
  const uint32_t blocks = context / BLOCK_TOKENS;
  // Rows, which are sequences too; their positions; their blocks.
  const auto ints = bench.device.NewBuffer((2 * kMostRows + rows * blocks) * 4);
  auto* words = reinterpret_cast<int32_t*>(ints->contents());
  for (uint32_t row = 0; row < rows; row++) {
    words[row] = static_cast<int32_t>(row);
    words[kMostRows + row] = static_cast<int32_t>(context - 1);
  }
  const uint32_t all_blocks = rows * blocks;
  for (uint32_t i = 0; i < all_blocks; i++) {
    words[2 * kMostRows + i] = static_cast<int32_t>(all_blocks - 1 - i);
  }
  static_cast<CudaBuffer&>(*ints).Upload();
  const size_t head_bytes = size_t{rows} * shape.heads * kDim * 2;
  const auto q = RandomBuffer(bench.device, head_bytes, kHalves);
  const auto out = bench.device.NewBuffer(head_bytes);
  const StepOperand step{.rows = rows,
                         .sequences = rows,
                         .tokens = ViewOf(ints, 0, rows * 4),
                         .positions = ViewOf(ints, kMostRows * 4, rows * 4),
                         .sequence_of = ViewOf(ints, 0, rows * 4),
                         .block_tables = ViewOf(ints, 2 * kMostRows * 4, size_t{all_blocks} * 4),
                         .blocks_per_sequence = blocks};
  const AttentionWork work{.row_count = rows, .rows = ViewOf(ints, 0, rows * 4), .longest = context};
  const AttentionOperand op{
      .heads = shape.heads, .scale = 0.088f, .q = {ViewOf(q), DTYPE_F16}, .out = {ViewOf(out), DTYPE_F16}};
  const auto layer_at = [&](size_t i) {
    return KvLayerOperand{.keys = ViewOf(bench.pool, i * 2 * half, half),
                          .values = ViewOf(bench.pool, i * 2 * half + half, half),
                          .type = type,
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
    for (const uint32_t context : {1024u, 2048u, 8192u, 32768u}) {
      for (const DType type : {DTYPE_F16, DTYPE_I8}) BenchContext(bench, shape, 1, context, type);
    }
    for (const uint32_t rows : {2u, 4u, 8u}) BenchContext(bench, shape, rows, 8192, DTYPE_F16);
  }
}

}  // namespace anllm::cuda
