#include <cmath>
#include <cstring>
#include <random>

#include "measure.h"

namespace anllm::cuda {

using namespace metal;

namespace {

/** Qwen3's. */
constexpr uint32_t kVocabulary = 151936;

struct Sampling {
  const char* name;
  float temperature;
  uint32_t top_k;
  float top_p;
  /** Logits of this deviation; less than 1 is flatter than a model's. */
  float deviation;
};
constexpr Sampling kSamplings[] = {{"greedy", 0, 0, 1, 2.5f},
                                   {"top-p 0.95", 0.6f, 0, 0.95f, 2.5f},
                                   {"top-k 20, top-p 0.95", 0.6f, 20, 0.95f, 2.5f},
                                   {"all of a flat row", 1, 0, 1, 0.1f}};

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void BenchRows(Bench& bench, const Sampling& sampling, uint32_t rows) {
  const std::string what = std::string(sampling.name) + ", " + std::to_string(rows) + " rows";
  if (!bench.Wants("all", what)) return;
  const size_t row_bytes = size_t{kVocabulary} * sizeof(float);
  const auto logits = bench.device.NewBuffer(rows * row_bytes);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, sampling.deviation);
  auto* values = reinterpret_cast<float*>(logits->contents());
  for (size_t i = 0; i < size_t{rows} * kVocabulary; i++) values[i] = normal(random);
  // The few tokens that a model thinks of.
  for (uint32_t row = 0; row < rows; row++) {
    for (uint32_t i = 0; i < 12 && sampling.deviation > 1; i++)
      values[row * kVocabulary + 1000 * i] = 18.0f - static_cast<float>(i);
  }
  static_cast<CudaBuffer&>(*logits).Upload();
  const auto draws = bench.device.NewBuffer(size_t{rows} * DRAW_WORDS * sizeof(uint32_t));
  auto* words = reinterpret_cast<uint32_t*>(draws->contents());
  for (uint32_t row = 0; row < rows; row++) {
    uint32_t* record = words + row * DRAW_WORDS;
    record[DRAW_ROW] = row;
    record[DRAW_TEMPERATURE] = BitsOf(sampling.temperature);
    record[DRAW_TOP_K] = sampling.top_k;
    record[DRAW_TOP_P] = BitsOf(sampling.top_p);
    record[DRAW_INDEX_LOW] = row;
  }
  static_cast<CudaBuffer&>(*draws).Upload();
  const auto ids = bench.device.NewBuffer(rows * sizeof(int32_t) + 16);
  const DrawOperand op{.count = rows, .columns = kVocabulary, .draws = ViewOf(draws)};
  const Times times = TimesOf(bench, 20, [&](Dispatcher& dispatcher, size_t) {
    Sample(dispatcher, op, ViewOf(logits), kVocabulary, ViewOf(ids));
  });
  PrintRow(bench, "all", what, static_cast<double>(rows * row_bytes), times);
}

}  // namespace

void BenchSampling(Bench& bench) {
  for (const Sampling& sampling : kSamplings) {
    for (const uint32_t rows : {1u, 8u}) BenchRows(bench, sampling, rows);
  }
}

}  // namespace anllm::cuda
