#include "memory_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "aligned_buffer.h"
#include "thread_pool.h"

namespace anllm {
namespace {

constexpr size_t kBytes = size_t{512} << 20;  // beyond every cache
constexpr size_t kTaskBytes = size_t{4} << 20;
constexpr int kPasses = 3;

struct Pass {
  uint8_t* data;
  std::atomic<uint64_t> sum;
};

void WriteTask(void* context, int64_t index, int) {
  std::memset(static_cast<Pass*>(context)->data + static_cast<size_t>(index) * kTaskBytes, 1, kTaskBytes);
}

void ReadTask(void* context, int64_t index, int) {
  auto* pass = static_cast<Pass*>(context);
  const auto* words = reinterpret_cast<const uint64_t*>(pass->data + static_cast<size_t>(index) * kTaskBytes);
  uint64_t sums[8] = {};
  for (size_t i = 0; i < kTaskBytes / sizeof(uint64_t); i += 8) {
    for (size_t lane = 0; lane < 8; lane++) sums[lane] += words[i + lane];
  }
  for (uint64_t sum : sums) pass->sum += sum;
}

}  // namespace

double MeasureMemoryBandwidth(int threads) {
  const AlignedBuffer buffer(kBytes, "measurement");
  ThreadPool pool(threads);
  Pass pass{buffer.data(), {0}};
  pool.ParallelFor(kBytes / kTaskBytes, WriteTask, &pass);
  double best = 0;
  for (int i = 0; i < kPasses; i++) {
    const auto start = std::chrono::steady_clock::now();
    pool.ParallelFor(kBytes / kTaskBytes, ReadTask, &pass);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / elapsed.count());
  }
  return best;
}

}  // namespace anllm
