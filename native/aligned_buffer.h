/** Cache-line aligned memory that belongs to one owner: zeroed, or of a file. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace anllm {

constexpr size_t kCacheLine = 64;

constexpr size_t AlignUp(size_t bytes, size_t to = kCacheLine) {
  return (bytes + to - 1) / to * to;
}

/**
 * Pages straight from the system: untouched ones cost nothing, and large buffers ask for huge pages, without
 * which streaming weights is bound by address translation.
 */
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /** Throws Error out_of_memory that names `purpose`. */
  AlignedBuffer(size_t bytes, const char* purpose);
  /** The first `bytes` of an open file, to be read only; nothing when the system refuses. */
  static std::optional<AlignedBuffer> Map(int descriptor, size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace anllm
