/** The weights of a program in buffers of a device. */
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../aligned_buffer.h"
#include "../../weights/packed_file.h"
#include "coding.h"

namespace anllm::metal {

struct WeightOptions {
  /** That read and check them. */
  int threads = 1;
  /** See MakeCoding. */
  bool is_exact = true;
  /** Quantized matrices become float32. */
  bool force_dequantized = false;
  /** Where all matrices are kept as the kernels read them, and mapped from then on; empty: nowhere. */
  std::string packed_file;
};

class Weights {
 public:
  /**
   * `program` and `sources` (parallel to its weights) outlive this. Throws Error bad_model, unsupported for
   * codings that no kernel has, unavailable or out_of_memory.
   */
  Weights(Device& device, const program::Program& program, const std::vector<weights::WeightSource>& sources,
          const WeightOptions& options);

  /** Whether the rows of these matrices can lie in one matrix: all are coded alike, as those of experts are.
   */
  bool AreAlike(const std::vector<program::WeightId>& ids) const;
  /**
   * The rows of matrices that are coded alike, one after the other; the same ids give the same memory. Its
   * bytes are there after `Read`.
   */
  Matrix Rows(const std::vector<program::WeightId>& ids);
  /** In float32; no buffer for kNone. */
  BufferView Vector(program::WeightId id);
  /** Vectors one after the other, zeros in place of absent ones; no buffer when all are absent. */
  BufferView Vectors(const std::vector<program::WeightId>& ids, const std::vector<int64_t>& sizes);
  /** Numbers that no file has. */
  BufferView Keep(const void* bytes, size_t size);

  /** Reads whatever matrices are not mapped; nothing else is read from then on. Throws Error bad_model. */
  void Read();

  const std::vector<std::unique_ptr<Buffer>>& buffers() const { return buffers_; }

 private:
  /** Rows of one weight and where they go. */
  struct Task {
    const Coding* coding;
    int64_t first;
    int64_t last;
    RowsPlace place;
  };
  /** Part of the memory of all matrices, or a buffer of its own. */
  struct Place {
    BufferView view;
    /** Its bytes are there already. */
    bool is_mapped;
  };
  /** Recodes those that are coded unlike the others. */
  void CodeAlike(const std::vector<program::WeightId>& ids);
  const Coding& CodingOf(program::WeightId id) const { return *codings_[static_cast<size_t>(id)]; }
  Place PlaceFor(size_t bytes);
  void AddTasks(const Coding& coding, const RowsPlace& place);
  BufferView Allocate(size_t bytes);

  Device& device_;
  const program::Program& program_;
  const std::vector<weights::WeightSource>& sources_;
  const WeightOptions options_;
  std::optional<weights::Files> files_;
  /** Parallel to the weights of the program; null for vectors. */
  std::vector<std::unique_ptr<Coding>> codings_;
  /** Of all matrices, when they are kept in a file. */
  std::optional<AlignedBuffer> image_;
  /** Of the image; null when nothing is to be written. */
  std::unique_ptr<weights::PackedWriter> writer_;
  bool is_mapped_ = false;
  /** Bytes of the image that are given out. */
  size_t used_ = 0;
  std::vector<Task> tasks_;
  std::map<std::vector<program::WeightId>, Matrix> matrices_;
  std::map<program::WeightId, BufferView> vectors_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

/** Bytes of a matrix with its scales and biases. */
int64_t BytesOf(const Matrix& matrix);

}  // namespace anllm::metal
