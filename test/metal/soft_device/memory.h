/** Memory that kernels reach through checked pointers (pointer.h). */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker.h"

namespace anllm::soft {

/**
 * Who touched a buffer last. A task is one threadgroup of one dispatch; tasks are numbered in the order in
 * which they run. Two tasks of which none ran before the last barrier may run at the same time on a GPU.
 */
class TaskMarks {
 public:
  explicit TaskMarks(const uint8_t* begin, size_t bytes) : begin_(begin), bytes_(bytes) {}

  /** False before a kernel writes to the buffer: weights never pay for marks. */
  bool is_active() const { return !marks_.empty(); }
  /** The task that wrote the bytes or read them since, and is concurrent with `task`; 0 when there is none.
   */
  uint32_t Read(const uint8_t* address, size_t bytes, uint32_t task, uint32_t barrier);
  uint32_t Write(const uint8_t* address, size_t bytes, uint32_t task, uint32_t barrier);

 private:
  /** What kernels write byte by byte (codes of keys and values) comes in runs of an even length. */
  static constexpr size_t kGranule = 2;
  struct Mark {
    uint32_t writer = 0;
    uint32_t reader = 0;
  };

  const uint8_t* begin_;
  size_t bytes_;
  std::vector<Mark> marks_;
};

/** The part of a buffer that one binding makes visible. */
struct DeviceMemory {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  TaskMarks* marks = nullptr;
  unsigned binding = 0;
};

[[noreturn]] void DeviceFault(const DeviceMemory& memory, const uint8_t* address, size_t bytes,
                              const char* verb);
[[noreturn]] void RaceFault(const DeviceMemory& memory, const uint8_t* address, const char* verb,
                            uint32_t other);

inline bool IsInside(const DeviceMemory& memory, const uint8_t* address, size_t bytes, size_t alignment) {
  return address >= memory.begin && address + bytes <= memory.end &&
         (reinterpret_cast<uintptr_t>(address) & (alignment - 1)) == 0;
}

inline void CheckRead(const DeviceMemory& memory, const uint8_t* address, size_t bytes, size_t alignment) {
  if (!IsInside(memory, address, bytes, alignment)) [[unlikely]] {
    DeviceFault(memory, address, bytes, "reads");
  }
  if (memory.marks->is_active()) {
    const uint32_t other = memory.marks->Read(address, bytes, worker->task, worker->barrier);
    if (other != 0) [[unlikely]] {
      RaceFault(memory, address, "reads", other);
    }
  }
}

inline void CheckWrite(const DeviceMemory& memory, const uint8_t* address, size_t bytes, size_t alignment) {
  if (!IsInside(memory, address, bytes, alignment)) [[unlikely]] {
    DeviceFault(memory, address, bytes, "writes");
  }
  const uint32_t other = memory.marks->Write(address, bytes, worker->task, worker->barrier);
  if (other != 0) [[unlikely]] {
    RaceFault(memory, address, "writes", other);
  }
}

}  // namespace anllm::soft
