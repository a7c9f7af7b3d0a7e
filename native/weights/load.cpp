#include "load.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "../error.h"
#include "format.h"
#include "half.h"
#include "microscaled.h"

namespace anllm::weights {
namespace {

/** Packed bytes that one task reads and packs. */
constexpr int64_t kTaskBytes = int64_t{512} << 10;

/** Blocks [first, last) of a matrix. */
struct PackTask {
  const Format* format;
  int64_t first;
  int64_t last;
  uint8_t* target;
};

struct PackJob {
  std::vector<PackTask> tasks;
  std::mutex mutex;
  std::exception_ptr failure;
};

void RunTask(void* context, int64_t index, int) {
  auto* job = static_cast<PackJob*>(context);
  const PackTask& task = job->tasks[static_cast<size_t>(index)];
  try {
    task.format->Pack(task.first, task.last, task.target);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(job->mutex);
    if (!job->failure) job->failure = std::current_exception();
  }
}

std::unique_ptr<Format> MakeFormat(const WeightSource& source, const program::WeightSpec& spec, bool is_fast,
                                   Files* files) {
  switch (source.kind) {
    case SourceKind::kDense:
      break;
    case SourceKind::kAffine:
      return MakeAffineFormat(source, spec, files);
    case SourceKind::kMicroscaled:
      return MicroscaledModeOf(source).bits == 4 ? MakeE2m1Format(source, spec, files)
                                                 : MakeMicroscaledFormat(source, spec, files);
    case SourceKind::kGguf:
      return MakeGgufFormat(source, spec, is_fast, files);
  }
  return MakeDenseFormat(source, spec, files);
}

size_t TotalBytes(const LoadedWeights& weights) {
  int64_t bytes = 0;
  for (const Matrix& matrix : weights.matrices) bytes += PackedBytes(matrix);
  return static_cast<size_t>(bytes);
}

/** Gives each matrix its part of the memory. */
void Place(LoadedWeights* weights) {
  const uint8_t* next = weights->memory.data();
  for (Matrix& matrix : weights->matrices) {
    if (matrix.cols == 0) continue;
    matrix.data = next;
    next += PackedBytes(matrix);
  }
}

void PackAll(const std::vector<std::unique_ptr<Format>>& formats, LoadedWeights* weights, ThreadPool* pool) {
  weights->memory = AlignedBuffer(TotalBytes(*weights), "weights");
  PackJob job;
  uint8_t* free = weights->memory.data();
  for (size_t i = 0; i < formats.size(); i++) {
    if (formats[i] == nullptr) continue;
    const Matrix& matrix = weights->matrices[i];
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / matrix.block_bytes);
    for (int64_t first = 0; first < NumBlocks(matrix); first += per_task) {
      const int64_t last = std::min(NumBlocks(matrix), first + per_task);
      job.tasks.push_back({formats[i].get(), first, last, free + first * matrix.block_bytes});
    }
    free += PackedBytes(matrix);
  }
  pool->ParallelFor(static_cast<int64_t>(job.tasks.size()), RunTask, &job);
  if (job.failure) std::rethrow_exception(job.failure);
}

/** Elements that have all bits of the mask. */
template <class Bits>
int64_t CountSet(const Bytes& bytes, Bits mask) {
  constexpr size_t kElements = 64 / sizeof(Bits);
  int64_t count = 0;
  size_t i = 0;
  for (; i + 64 <= bytes.size(); i += 64) {
    // An array of constant size, so that compilers see vectors.
    Bits elements[kElements];
    std::memcpy(elements, bytes.data() + i, 64);
    Bits set = 0;
    for (Bits element : elements) set = static_cast<Bits>(set + ((element & mask) == mask));
    count += set;
  }
  for (; i < bytes.size(); i += sizeof(Bits)) {
    Bits element;
    std::memcpy(&element, bytes.data() + i, sizeof(Bits));
    if ((element & mask) == mask) count++;
  }
  return count;
}

}  // namespace

std::vector<float> LoadVector(const WeightSource& source, const program::WeightSpec& spec, Files* files) {
  const StoredTensor& tensor = source.tensor;
  if (source.kind != SourceKind::kDense)
    throw Unsupported(tensor.file + ": " + tensor.name + ": a quantized vector");
  CheckTensor(tensor, 1, spec.cols);
  const Float scalar = ScalarOf(tensor);
  files->Open(tensor);
  const Bytes bytes = files->Read(tensor, 0, tensor.byte_length);
  CheckFinite(tensor, bytes);
  std::vector<float> vector(static_cast<size_t>(spec.cols));
  if (scalar == Float::kF32) {
    std::memcpy(vector.data(), bytes.data(), bytes.size());
    return vector;
  }
  for (size_t i = 0; i < vector.size(); i++) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    vector[i] = scalar == Float::kF16 ? WidenHalf(bits) : WidenBfloat(bits);
  }
  return vector;
}

int64_t NumBlocks(const Matrix& matrix) {
  return (matrix.rows + kBlockRows - 1) / kBlockRows;
}

int64_t PackedBytes(const Matrix& matrix) {
  return matrix.cols == 0
             ? 0
             : static_cast<int64_t>(AlignUp(static_cast<size_t>(NumBlocks(matrix) * matrix.block_bytes)));
}

void CheckFinite(const StoredTensor& tensor, const Bytes& bytes) {
  // A float of either kind is not finite when all bits of its exponent are set.
  const int64_t bad = tensor.type == ElementType::kF32    ? CountSet<uint32_t>(bytes, 0x7f800000)
                      : tensor.type == ElementType::kBf16 ? CountSet<uint16_t>(bytes, 0x7f80)
                                                          : CountSet<uint16_t>(bytes, 0x7c00);
  if (bad > 0)
    throw BadModel(tensor.file + ": " + tensor.name + ": " + std::to_string(bad) + " values not finite");
}

LoadedWeights Load(const std::vector<program::WeightSpec>& specs, const std::vector<WeightSource>& sources,
                   ThreadPool* pool, Packing packing, const std::string& packed_file) {
  if (sources.size() != specs.size()) {
    throw Error("internal", "[compile] weights: got " + std::to_string(sources.size()) + ", expected " +
                                std::to_string(specs.size()));
  }
  LoadedWeights weights{std::vector<Matrix>(specs.size(), Matrix{}),
                        std::vector<std::vector<float>>(specs.size()),
                        {},
                        nullptr};
  Files files;
  std::vector<std::unique_ptr<Format>> formats(specs.size());
  for (size_t i = 0; i < specs.size(); i++) {
    if (!specs[i].is_matrix) {
      weights.vectors[i] = LoadVector(sources[i], specs[i], &files);
      continue;
    }
    formats[i] = MakeFormat(sources[i], specs[i], packing == Packing::kFast, &files);
    if (packing == Packing::kFloats) formats[i] = MakeDequantizedFormat(std::move(formats[i]));
    weights.matrices[i] = formats[i]->Layout();
  }
  std::optional<AlignedBuffer> packed;
  if (!packed_file.empty()) packed = MapPacked(packed_file, TotalBytes(weights), pool);
  if (packed) {
    weights.memory = std::move(*packed);
  } else {
    PackAll(formats, &weights, pool);
    if (!packed_file.empty()) weights.writer = std::make_unique<PackedWriter>(packed_file, weights.memory);
  }
  Place(&weights);
  return weights;
}

}  // namespace anllm::weights
