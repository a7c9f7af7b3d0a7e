/**
 * How fast the kernels read: matrix-vector products and decode attention at the shapes of real models, as a
 * share of what a copy within the GPU moves. Every dispatch reads memory of its own from a pool larger than
 * the caches. Prints a Markdown table. usage: bench [--shapes | --only TEXT]; with --shapes, how the time of
 * a product depends on the way its work is divided; with --only, rows whose name has the text.
 */
#include <cstdio>
#include <cstring>

#include "measure.h"

int main(int count, char** arguments) {
  using namespace anllm::cuda;
  /** Several times the L2 of any GPU today. */
  constexpr size_t kPoolBytes = size_t{1} << 30;
  Bench bench;
  bench.device.copies_twins = false;
  bench.device.uses_graphs = true;
  bench.copy_rate = CopyRate(bench.device);
  std::printf("%s: a copy moves %.0f GB/s, read and written.\n\n", bench.device.name().c_str(),
              bench.copy_rate / 1e9);
  bench.pool = RandomBuffer(bench.device, kPoolBytes, kHalves);
  if (count > 2 && std::strcmp(arguments[1], "--only") == 0) bench.only = arguments[2];
  if (count > 1 && std::strcmp(arguments[1], "--shapes") == 0) {
    BenchShapes(bench);
    return 0;
  }
  PrintHeader();
  BenchProducts(bench);
  BenchExperts(bench);
  BenchAttention(bench);
  BenchSampling(bench);
  BenchGatedDelta(bench);
}
