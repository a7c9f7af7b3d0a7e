/** What a kernel did wrong, found while it ran. */
#pragma once

#include <stdexcept>
#include <string>

namespace anllm::soft {

/** The message names the kernel, the threadgroup, the thread and what happened. */
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/** A place in a kernel's source. */
struct Site {
  const char* file = nullptr;
  int line = 0;

  bool operator==(const Site& other) const { return line == other.line && file == other.file; }
  static Site Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

std::string ToString(const Site& site);

/** Throws KernelFault with the running kernel, threadgroup and thread in front of `what`. */
[[noreturn]] void Fault(const std::string& what);

}  // namespace anllm::soft
