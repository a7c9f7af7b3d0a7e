#include "measure.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace anllm::cuda {

using namespace metal;

namespace {

constexpr int kRepeats = 7;

}  // namespace

std::unique_ptr<Buffer> RandomBuffer(CudaDevice& device, size_t bytes, uint32_t mask) {
  std::unique_ptr<Buffer> buffer = device.NewBuffer((bytes + 15) / 16 * 16);
  std::mt19937 random(1);
  auto* words = reinterpret_cast<uint32_t*>(buffer->contents());
  for (size_t i = 0; i < bytes / 4; i++) words[i] = static_cast<uint32_t>(random()) & mask;
  static_cast<CudaBuffer&>(*buffer).Upload();
  return buffer;
}

BufferView ViewOf(const std::unique_ptr<Buffer>& buffer, size_t offset, size_t size) {
  return {buffer.get(), offset, size};
}

double SecondsOf(Bench& bench, size_t reads, bool has_barriers, const EncodeRead& encode) {
  Dispatcher dispatcher(bench.device);
  std::vector<float> times;
  for (int i = 0; i < kRepeats; i++) {
    const auto commands = bench.device.NewCommandBuffer();
    dispatcher.Begin(*commands);
    for (size_t read = 0; read < reads; read++) {
      encode(dispatcher, read);
      if (has_barriers) dispatcher.Barrier();
    }
    commands->Commit();
    commands->WaitUntilCompleted();
    times.push_back(bench.device.milliseconds);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2] / 1e3 / static_cast<double>(reads);
}

Times TimesOf(Bench& bench, size_t reads, const EncodeRead& encode) {
  return {SecondsOf(bench, reads, true, encode), SecondsOf(bench, reads, false, encode)};
}

double CopyRate(CudaDevice& device) {
  constexpr size_t kBytes = size_t{2} << 30;
  CUdeviceptr from, to;
  Check(cuMemAlloc(&from, kBytes), "memory");
  Check(cuMemAlloc(&to, kBytes), "memory");
  CUevent begin, end;
  Check(cuEventCreate(&begin, CU_EVENT_DEFAULT), "event");
  Check(cuEventCreate(&end, CU_EVENT_DEFAULT), "event");
  float best = 1e9f;
  for (int i = 0; i < kRepeats; i++) {
    cuEventRecord(begin, device.stream());
    Check(cuMemcpyDtoDAsync(to, from, kBytes, device.stream()), "copy");
    cuEventRecord(end, device.stream());
    cuEventSynchronize(end);
    float milliseconds = 0;
    cuEventElapsedTime(&milliseconds, begin, end);
    best = std::min(best, milliseconds);
  }
  cuMemFree(from);
  cuMemFree(to);
  return 2.0 * kBytes / best * 1e3;
}

void PrintHeader() {
  std::printf("| model | read | bytes | in turn | of the copy | overlapping | of the copy |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
}

void PrintRow(const Bench& bench, const std::string& model, const std::string& what, double bytes,
              const Times& times) {
  std::printf("| %s | %s | %.2f MB | %.1f µs | %.0f %% | %.1f µs | %.0f %% |\n", model.c_str(), what.c_str(),
              bytes / 1e6, times.in_turn * 1e6, 100 * bytes / times.in_turn / bench.copy_rate,
              times.overlapping * 1e6, 100 * bytes / times.overlapping / bench.copy_rate);
  std::fflush(stdout);
}

}  // namespace anllm::cuda
