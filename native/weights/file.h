/**
 * Reading checkpoint files without mapping them: a file that shrinks is then an error, not a fault of the
 * process.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "source.h"

namespace anllm::weights {

/** Leaves memory as it is where it is about to be written anyway. */
template <class T>
struct Uninitialized : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    if constexpr (sizeof...(Args) > 0) new (place) U(std::forward<Args>(args)...);
  }
};
using Bytes = std::vector<uint8_t, Uninitialized<uint8_t>>;

/** Files that stay open while a program is compiled. `Read` may be called by several threads. */
class Files {
 public:
  Files() = default;
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /** Opens the tensor's file unless it is open. Throws Error bad_model. */
  void Open(const StoredTensor& tensor);
  /**
   * Bytes [begin, end) of a tensor of an open file. Throws Error bad_model when the file ends or cannot be
   * read, and not_packed, which native.ts catches, when the tensor was left out.
   */
  Bytes Read(const StoredTensor& tensor, int64_t begin, int64_t end) const;

 private:
  std::map<std::string, int> descriptors_;
};

}  // namespace anllm::weights
