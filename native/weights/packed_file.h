/** Packed weights on disk: what packing has made once is mapped from then on. */
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "../aligned_buffer.h"
#include "../thread_pool.h"

namespace anllm::weights {

/**
 * The packed weights in `path`, or nothing when there is no such file or it is not whole: then it is removed.
 * `bytes`: how many there must be. All of them are read once, for the checksum.
 */
std::optional<AlignedBuffer> MapPacked(const std::string& path, size_t bytes, ThreadPool* pool);

/**
 * Writes a file that MapPacked reads on a thread of its own, while the model serves already. It has another
 * name until it is whole and on the disk, so that a crash leaves no half of it. Nothing is left when the disk
 * is full or the folder cannot be written.
 */
class PackedWriter {
 public:
  /** `memory` outlives the writer and does not change. */
  PackedWriter(std::string path, const AlignedBuffer& memory);
  /** Waits for a file that is nearly whole; gives up one that would take longer. */
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

 private:
  void Work();
  /** False when it was given up or cannot be written. */
  bool Write(int descriptor);

  const std::string path_;
  const uint8_t* const data_;
  const size_t bytes_;
  std::atomic<bool> is_hurried_{false};
  std::thread thread_;
};

}  // namespace anllm::weights
