#include "weights.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "../../error.h"
#include "../../thread_pool.h"
#include "../../weights/load.h"

namespace anllm::metal {
namespace {

/** What one task reads. */
constexpr size_t kTaskBytes = size_t{4} << 20;
/** Kernels read vectors of four words. */
constexpr size_t kAlignment = 256;
/** The largest page of the machines that the image is mapped on. */
constexpr size_t kImagePage = size_t{16} << 10;

/** How codes, scales and biases of `rows` rows lie one after the other. */
struct Extents {
  size_t code_bytes;
  size_t scale_bytes;

  Extents(const Matrix& matrix, size_t rows)
      : code_bytes(rows * RowBytes(matrix)), scale_bytes(rows * RowScaleBytes(matrix)) {}
  size_t scales_at() const { return AlignUp(code_bytes, kAlignment); }
  size_t biases_at() const { return scales_at() + AlignUp(scale_bytes, kAlignment); }
  size_t bytes() const { return biases_at() + AlignUp(scale_bytes, kAlignment); }
};

/** Enough for all matrices, whichever of them lie together: joined ones need less. */
size_t ImageBytes(const std::vector<std::unique_ptr<Coding>>& codings) {
  size_t bytes = 0;
  for (const std::unique_ptr<Coding>& coding : codings)
    if (coding) bytes += Extents(coding->matrix(), coding->matrix().rows).bytes();
  return AlignUp(bytes, kImagePage);
}

/** Matrices that one dispatch reads as one, whatever their codings: those of all experts of a layer. */
std::vector<std::vector<program::WeightId>> StacksOf(const program::Program& program) {
  std::vector<std::vector<program::WeightId>> stacks;
  for (const program::Instruction& instruction : program.instructions) {
    if (const auto* linear = std::get_if<program::MoeLinear>(&instruction)) stacks.push_back(linear->weights);
    if (const auto* glu = std::get_if<program::MoeGlu>(&instruction)) {
      stacks.push_back(glu->gate);
      stacks.push_back(glu->up);
    }
  }
  return stacks;
}

}  // namespace

Weights::Weights(Device& device, const program::Program& program,
                 const std::vector<weights::WeightSource>& sources, const WeightOptions& options)
    : device_(device),
      program_(program),
      sources_(sources),
      options_(options),
      files_(std::in_place),
      codings_(program.weights.size()) {
  if (sources.size() != program.weights.size()) {
    throw Error("internal", "[compile] weights: got " + std::to_string(sources.size()) + ", expected " +
                                std::to_string(program.weights.size()));
  }
  for (size_t i = 0; i < sources.size(); i++) {
    if (!program.weights[i].is_matrix) continue;
    codings_[i] = MakeCoding(sources[i], program.weights[i], options.is_exact, &*files_);
    if (options.force_dequantized) codings_[i] = MakeDecodedCoding(std::move(codings_[i]));
  }
  for (const std::vector<program::WeightId>& stack : StacksOf(program)) CodeAlike(stack);
  if (options_.packed_file.empty()) return;
  const size_t bytes = ImageBytes(codings_);
  ThreadPool pool(options_.threads);
  image_ = weights::MapPacked(options_.packed_file, bytes, &pool);
  is_mapped_ = image_.has_value();
  if (!image_) image_.emplace(bytes, "weights");
}

void Weights::CodeAlike(const std::vector<program::WeightId>& ids) {
  Matrix common = CodingOf(ids[0]).matrix();
  for (const program::WeightId id : ids) common = CommonCoding(common, CodingOf(id).matrix());
  for (const program::WeightId id : ids) {
    std::unique_ptr<Coding>& coding = codings_[static_cast<size_t>(id)];
    coding = Recoded(std::move(coding), common);
  }
}

bool Weights::AreAlike(const std::vector<program::WeightId>& ids) const {
  const Matrix& first = CodingOf(ids[0]).matrix();
  return std::all_of(ids.begin(), ids.end(),
                     [&](program::WeightId id) { return AreCodedAlike(first, CodingOf(id).matrix()); });
}

Matrix Weights::Rows(const std::vector<program::WeightId>& ids) {
  const auto found = matrices_.find(ids);
  if (found != matrices_.end()) return found->second;
  Matrix all = CodingOf(ids[0]).matrix();
  all.rows = 0;
  for (const program::WeightId id : ids) all.rows += CodingOf(id).matrix().rows;
  const Extents extents(all, all.rows);
  const auto [view, is_mapped] = PlaceFor(extents.bytes());
  all.data = {view.buffer, view.offset, extents.code_bytes};
  if (all.type == DTYPE_AFFINE) {
    all.scales = {view.buffer, view.offset + extents.scales_at(), extents.scale_bytes};
    all.biases = {view.buffer, view.offset + extents.biases_at(), extents.scale_bytes};
  }
  uint8_t* target = view.buffer->contents() + view.offset;
  size_t row = 0;
  for (const program::WeightId id : ids) {
    const Coding& coding = CodingOf(id);
    const size_t scale = row * RowScaleBytes(all);
    if (!is_mapped) {
      AddTasks(coding, {target + row * RowBytes(all), target + extents.scales_at() + scale,
                        target + extents.biases_at() + scale});
    }
    row += coding.matrix().rows;
  }
  matrices_.emplace(ids, all);
  return all;
}

void Weights::AddTasks(const Coding& coding, const RowsPlace& place) {
  const Matrix& matrix = coding.matrix();
  const auto rows = static_cast<int64_t>(matrix.rows);
  const int64_t per_task = std::max<int64_t>(1, static_cast<int64_t>(kTaskBytes / RowBytes(matrix)));
  for (int64_t first = 0; first < rows; first += per_task) {
    const auto at = static_cast<size_t>(first);
    const size_t scale = at * RowScaleBytes(matrix);
    tasks_.push_back({&coding,
                      first,
                      std::min(first + per_task, rows),
                      {place.data + at * RowBytes(matrix), place.scales + scale, place.biases + scale}});
  }
}

Weights::Place Weights::PlaceFor(size_t bytes) {
  // A weight of two groups is there twice, for which the image has no room.
  if (!image_ || used_ + bytes > image_->size()) return {Allocate(bytes), false};
  // The GPU maps whole pages; the first and the last one may be shared with neighbours.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = used_ / page * page;
  const size_t end = AlignUp(used_ + bytes, page);
  buffers_.push_back(device_.WrapMemory(image_->data() + begin, end - begin));
  const BufferView view{buffers_.back().get(), used_ - begin, bytes};
  used_ += bytes;
  return {view, is_mapped_};
}

BufferView Weights::Vector(program::WeightId id) {
  if (id == program::kNone) return {};
  const auto found = vectors_.find(id);
  if (found != vectors_.end()) return found->second;
  const auto at = static_cast<size_t>(id);
  const std::vector<float> values = weights::LoadVector(sources_[at], program_.weights[at], &*files_);
  const BufferView view = Keep(values.data(), values.size() * sizeof(float));
  vectors_.emplace(id, view);
  return view;
}

BufferView Weights::Vectors(const std::vector<program::WeightId>& ids, const std::vector<int64_t>& sizes) {
  if (std::all_of(ids.begin(), ids.end(), [](program::WeightId id) { return id == program::kNone; }))
    return {};
  if (ids.size() == 1) return Vector(ids[0]);
  std::vector<float> all;
  for (size_t i = 0; i < ids.size(); i++) {
    std::vector<float> part(static_cast<size_t>(sizes[i]), 0.0f);
    if (ids[i] != program::kNone) {
      const auto at = static_cast<size_t>(ids[i]);
      part = weights::LoadVector(sources_[at], program_.weights[at], &*files_);
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  return Keep(all.data(), all.size() * sizeof(float));
}

BufferView Weights::Keep(const void* bytes, size_t size) {
  const BufferView view = Allocate(size);
  std::memcpy(view.buffer->contents(), bytes, size);
  return view;
}

BufferView Weights::Allocate(size_t bytes) {
  buffers_.push_back(device_.NewBuffer(bytes));
  return {buffers_.back().get(), 0, bytes};
}

void Weights::Read() {
  struct Job {
    const std::vector<Task>& tasks;
    std::mutex mutex;
    std::exception_ptr failure;
  } job{tasks_, {}, nullptr};
  const auto run = [](void* context, int64_t index, int) {
    Job& shared = *static_cast<Job*>(context);
    const Task& task = shared.tasks[static_cast<size_t>(index)];
    try {
      task.coding->Write(task.first, task.last, task.place);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      if (!shared.failure) shared.failure = std::current_exception();
    }
  };
  ThreadPool pool(options_.threads);
  pool.ParallelFor(static_cast<int64_t>(tasks_.size()), run, &job);
  tasks_.clear();
  codings_.clear();
  files_.reset();
  if (job.failure) std::rethrow_exception(job.failure);
  if (image_ && !is_mapped_) writer_ = std::make_unique<weights::PackedWriter>(options_.packed_file, *image_);
}

int64_t BytesOf(const Matrix& matrix) {
  return static_cast<int64_t>(matrix.data.size + matrix.scales.size + matrix.biases.size);
}

}  // namespace anllm::metal
