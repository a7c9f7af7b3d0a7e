#include "self_test.h"

#include <algorithm>
#include <cmath>

#include "self_test_twins.h"

namespace anllm::metal {
namespace {

/** binary16 has 11 bits; sums of a hundred such products stay far below. */
constexpr double kTolerance = 5e-3;

/** x [rows, columns] · wᵀ for a weight of 4 bits; `is_half`: products are halves, whatever x are. */
double TestLinear(Bench& bench, uint32_t rows, bool is_half, DType x_type) {
  constexpr uint32_t kOutputs = 72;
  // Kernels of few rows have a form for halves with larger groups.
  const uint32_t columns = is_half ? 256 : 160, group = is_half ? 64 : 32;
  const std::vector<float> x = bench.Numbers(size_t{rows} * columns);
  const std::vector<float> scales = bench.Numbers(size_t{kOutputs} * columns / group);
  const std::vector<float> biases = bench.Numbers(scales.size());
  std::vector<uint32_t> codes(size_t{kOutputs} * columns / 8);
  for (size_t i = 0; i < codes.size(); i++) codes[i] = static_cast<uint32_t>(i) * 2654435761u;
  std::vector<double> expected;
  for (uint32_t row = 0; row < rows; row++) {
    for (uint32_t n = 0; n < kOutputs; n++) {
      double sum = 0;
      for (uint32_t k = 0; k < columns; k++) {
        const uint32_t at = n * columns + k;
        const double code = codes[at / 8] >> (at % 8 * 4) & 15;
        sum +=
            double{x[row * columns + k]} * (code * double{scales[at / group]} + double{biases[at / group]});
      }
      expected.push_back(sum);
    }
  }
  LinearOperand op{.rows = rows,
                   .x = x_type == DTYPE_F16 ? bench.Halves(x) : Values{bench.Place(x)},
                   .weight = {.rows = kOutputs,
                              .columns = columns,
                              .type = DTYPE_AFFINE,
                              .data = bench.Place(codes),
                              .bits = 4,
                              .group_size = group,
                              .scales = bench.Place(scales),
                              .biases = bench.Place(biases)},
                   .out = {bench.Allocate(expected.size() * sizeof(float))},
                   .outputs = kOutputs,
                   .is_fast = is_half};
  const ScratchBytes bytes = LinearScratchOf(op);
  const Scratch scratch{.parts = bench.Allocate(std::max<size_t>(bytes.parts, 16))};
  bench.Run([&](Dispatcher& dispatcher) { Linear(dispatcher, op, scratch); });
  return ErrorOf(op.out.view, expected);
}

double TestNorm(Bench& bench) {
  constexpr uint32_t kColumns = 700;
  const std::vector<float> x = bench.Numbers(kColumns);
  double squares = 0;
  for (const float value : x) squares += double{value} * double{value};
  std::vector<double> expected;
  for (const float value : x) expected.push_back(double{value} / std::sqrt(squares / kColumns));
  const Values out{bench.Allocate(kColumns * sizeof(float))};
  const Values in{bench.Place(x)};
  bench.Run(
      [&](Dispatcher& dispatcher) { Normalize(dispatcher, 1, kColumns, 1, in, {.kind = NORM_RMS}, out); });
  return ErrorOf(out.view, expected);
}

/** What a pool of `type` keeps of keys or values with one head: rows [tokens, dim]. */
std::vector<float> Kept(const std::vector<float>& rows, DType type) {
  if (type != DTYPE_I8) return rows;
  std::vector<float> kept;
  for (size_t first = 0; first < rows.size(); first += CODE_GROUP) {
    float largest = 0;
    for (size_t i = 0; i < CODE_GROUP; i++) largest = std::max(largest, std::abs(rows[first + i]));
    for (size_t i = 0; i < CODE_GROUP; i++)
      kept.push_back(std::nearbyint(rows[first + i] * (127.0f / largest)) * (largest / 127.0f));
  }
  return kept;
}

/**
 * The last `rows` of a sequence of kContext positions, `heads` over one key/value head, whose keys and values
 * were written before.
 */
double TestAttention(Bench& bench, uint32_t rows, uint32_t heads, DType kv_type) {
  constexpr uint32_t kContext = 40, kDim = 64, kBlocks = 3;
  const std::vector<float> q = bench.Numbers(size_t{rows} * heads * kDim);
  const std::vector<float> all_keys = bench.Numbers(kContext * kDim);
  const std::vector<float> all_values = bench.Numbers(all_keys.size());
  const std::vector<float> keys = Kept(all_keys, kv_type), values = Kept(all_values, kv_type);
  std::vector<double> expected;
  for (uint32_t row = 0; row < rows; row++) {
    for (uint32_t head = 0; head < heads; head++) {
      std::vector<double> sums(kDim, 0.0);
      double total = 0;
      for (uint32_t t = 0; t <= kContext - rows + row; t++) {
        double score = 0;
        for (uint32_t i = 0; i < kDim; i++)
          score += double{q[(row * heads + head) * kDim + i]} * double{keys[t * kDim + i]};
        const double weight = std::exp(score / 8);
        total += weight;
        for (uint32_t i = 0; i < kDim; i++) sums[i] += weight * double{values[t * kDim + i]};
      }
      for (const double sum : sums) expected.push_back(sum / total);
    }
  }
  std::vector<int32_t> positions, row_numbers;
  for (uint32_t i = 0; i < kContext; i++) positions.push_back(static_cast<int32_t>(i));
  for (uint32_t row = 0; row < rows; row++) row_numbers.push_back(static_cast<int32_t>(row));
  const StepOperand written{.rows = kContext,
                            .sequences = 1,
                            .positions = bench.Place(positions),
                            .sequence_of = bench.Place(std::vector<int32_t>(kContext, 0)),
                            .block_tables = bench.Place(std::vector<int32_t>{2, 0, 1}),
                            .blocks_per_sequence = kBlocks};
  StepOperand step = written;
  step.rows = rows;
  step.positions = bench.Place(std::vector<int32_t>(positions.end() - rows, positions.end()));
  const bool is_tile = rows > 1;
  const AttentionWork work{.row_count = is_tile ? 0 : rows,
                           .rows = bench.Place(row_numbers),
                           .tile_count = is_tile ? 1u : 0u,
                           .tiles = bench.Place(std::vector<int32_t>{0, static_cast<int32_t>(rows), 0, 0}),
                           .longest = kContext};
  const size_t pool_bytes = size_t{kBlocks} * BLOCK_TOKENS * kDim * sizeof(float);
  const KvLayerOperand layer{.keys = bench.Allocate(pool_bytes),
                             .values = bench.Allocate(pool_bytes),
                             .type = kv_type,
                             .kv_heads = 1,
                             .key_dim = kDim,
                             .value_dim = kDim};
  // Matrices are of what queries are.
  const bool is_half = heads > 2 || (is_tile && kv_type == DTYPE_I8);
  const AttentionOperand op{.heads = heads,
                            .scale = 0.125f,
                            .q = is_half ? bench.Halves(q) : Values{bench.Place(q)},
                            .out = {bench.Allocate(expected.size() * sizeof(float))}};
  const Values new_keys{bench.Place(all_keys)}, new_values{bench.Place(all_values)};
  const Scratch scratch{.parts = bench.Allocate(16)};
  bench.Run([&](Dispatcher& dispatcher) {
    KvWrite(dispatcher, written, new_keys, new_values, {}, layer);
    dispatcher.Barrier();
    Attention(dispatcher, step, work, op, layer, scratch);
  });
  return ErrorOf(op.out.view, expected);
}

}  // namespace

bool SelfTestResult::is_good() const {
  return failure.empty() && error <= kTolerance;
}

std::vector<SelfTestResult> SelfTest(Device& device) {
  struct Test {
    const char* name;
    std::function<double(Bench&)> run;
    SelfTestScope scope = SelfTestScope::kAll;
  };
  const Test tests[] = {
      {"matrix times one row", [](Bench& b) { return TestLinear(b, 1, false, DTYPE_F32); }},
      {"matrix times one row of halves", [](Bench& b) { return TestLinear(b, 1, true, DTYPE_F16); }},
      {"matrix times a few rows", [](Bench& b) { return TestLinear(b, 5, false, DTYPE_F32); }},
      {"matrix times a few rows of halves", [](Bench& b) { return TestLinear(b, 5, true, DTYPE_F16); }},
      {"matrix times a few rows as halves", [](Bench& b) { return TestLinear(b, 5, true, DTYPE_F32); }},
      {"matrix times many rows", [](Bench& b) { return TestLinear(b, 40, false, DTYPE_F32); }},
      {"matrix times many rows of halves", [](Bench& b) { return TestLinear(b, 40, true, DTYPE_F16); }},
      {"norm", [](Bench& b) { return TestNorm(b); }},
      {"attention of one row", [](Bench& b) { return TestAttention(b, 1, 2, DTYPE_F16); }},
      {"attention of one row and many heads", [](Bench& b) { return TestAttention(b, 1, 8, DTYPE_F16); }},
      {"attention of many rows", [](Bench& b) { return TestAttention(b, 12, 2, DTYPE_F16); }},
      {"recurrence of one row", [](Bench& b) { return TestGatedDelta(b, 1); }},
      {"recurrence of many rows", [](Bench& b) { return TestGatedDelta(b, 23); }},
      {"drawing of tokens", TestSample, SelfTestScope::kDrawing},
      {"attention of one row over 8 bits", [](Bench& b) { return TestAttention(b, 1, 2, DTYPE_I8); },
       SelfTestScope::kKv8},
      {"attention of one row and many heads over 8 bits",
       [](Bench& b) { return TestAttention(b, 1, 8, DTYPE_I8); }, SelfTestScope::kKv8},
      {"attention of many rows over 8 bits", [](Bench& b) { return TestAttention(b, 12, 2, DTYPE_I8); },
       SelfTestScope::kKv8},
  };
  std::vector<SelfTestResult> results;
  for (const Test& test : tests) {
    SelfTestResult result{.name = test.name, .scope = test.scope};
    try {
      Bench bench(device);
      result.error = test.run(bench);
    } catch (const std::exception& error) {
      result.failure = error.what();
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace anllm::metal
