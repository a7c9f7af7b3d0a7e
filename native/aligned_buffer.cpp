#include "aligned_buffer.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "error.h"

namespace anllm {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes, const char* purpose) : size_(bytes) {
  if (bytes == 0) return;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error("out_of_memory", "[compile] " + std::to_string(bytes >> 20) + " MiB for the " + purpose +
                                     ": the system refused; use a smaller model or context");
  }
  data_ = static_cast<uint8_t*>(pages);
#ifdef MADV_HUGEPAGE
  if (bytes >= kHugePage) madvise(pages, bytes, MADV_HUGEPAGE);
#endif
}

std::optional<AlignedBuffer> AlignedBuffer::Map(int descriptor, size_t bytes) {
  // Shared, as a GPU that is given the pages wants them; nobody writes to them either way.
  void* pages = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (pages == MAP_FAILED) return std::nullopt;
  madvise(pages, bytes, MADV_WILLNEED);
  AlignedBuffer buffer;
  buffer.data_ = static_cast<uint8_t*>(pages);
  buffer.size_ = bytes;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace anllm
