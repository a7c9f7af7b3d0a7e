/** What the measurements share: memory with random bits, times of dispatches, rows of a table. */
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../../../native/metal/ops.h"
#include "../cuda_device.h"

namespace anllm::cuda {

/** A GPU with a pool that is several times larger than its caches, and what a copy within it moves. */
struct Bench {
  CudaDevice device;
  std::unique_ptr<metal::Buffer> pool;
  /** Bytes a second, read and written counted. */
  double copy_rate = 0;
  /** Part of the name of the rows that are wanted; empty: all. */
  std::string only;

  bool Wants(const std::string& model, const std::string& what) const {
    return (model + " " + what).find(only) != std::string::npos;
  }
};

/** Filled with random bits below `mask`, on the GPU too. */
std::unique_ptr<metal::Buffer> RandomBuffer(CudaDevice& device, size_t bytes, uint32_t mask);
metal::BufferView ViewOf(const std::unique_ptr<metal::Buffer>& buffer, size_t offset, size_t size);
inline metal::BufferView ViewOf(const std::unique_ptr<metal::Buffer>& buffer) {
  return ViewOf(buffer, 0, buffer->size());
}

/** Bits of halves and of floats that are finite and moderate. */
constexpr uint32_t kHalves = 0x3bff3bff;
constexpr uint32_t kFloats = 0x3effffff;

double CopyRate(CudaDevice& device);

/** Encodes read number i; they all read memory of their own. */
using EncodeRead = std::function<void(metal::Dispatcher&, size_t i)>;

/** Seconds of a read when each waits for the one before, and when they may overlap: medians of several. */
struct Times {
  double in_turn;
  double overlapping;
};
Times TimesOf(Bench& bench, size_t reads, const EncodeRead& encode);

/** A median over command buffers with `reads` reads each, with a barrier after each read or without. */
double SecondsOf(Bench& bench, size_t reads, bool has_barriers, const EncodeRead& encode);

void PrintHeader();
void PrintRow(const Bench& bench, const std::string& model, const std::string& what, double bytes,
              const Times& times);

// The tables.
void BenchProducts(Bench& bench);
void BenchExperts(Bench& bench);
void BenchAttention(Bench& bench);
void BenchSampling(Bench& bench);
void BenchGatedDelta(Bench& bench);
/** Ways to divide the products of one model, so that a plan can be chosen; seconds of each. */
void BenchShapes(Bench& bench);

}  // namespace anllm::cuda
