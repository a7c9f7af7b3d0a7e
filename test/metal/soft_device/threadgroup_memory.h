/** The memory that the threads of one threadgroup share, with a record of who touched what. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anllm::soft {

/** A thread at a moment: what came before the last barrier it passed is ordered before it. */
struct Moment {
  uint16_t thread;
  uint16_t simdgroup;
  /** Barriers of the threadgroup passed so far, counted over all threadgroups ever run. */
  uint32_t group_phase;
  /** Barriers of the simdgroup passed so far, counted likewise. */
  uint32_t simd_phase;
};

/**
 * Faults on reads of bytes that nobody wrote in this threadgroup, on accesses out of range, and on two
 * accesses by different threads, one of them a write, without a barrier between.
 */
class ThreadgroupMemory {
 public:
  ThreadgroupMemory();

  /** Forgets everything; `limit` bytes may be allocated. */
  void Reset(uint32_t group_phase);
  uint8_t* base() { return bytes_.data(); }
  size_t capacity() const { return bytes_.size(); }

  void Read(const uint8_t* address, size_t bytes, size_t alignment);
  void Write(const uint8_t* address, size_t bytes, size_t alignment);
  /** An atomic operation: initialised memory, but no order is needed. */
  void Touch(const uint8_t* address, size_t bytes);

 private:
  static constexpr size_t kGranule = 2;
  static constexpr uint16_t kMany = 0xffff;
  struct Mark {
    Moment written{};
    Moment read{};
  };

  void CheckRange(const uint8_t* address, size_t bytes, size_t alignment, const char* verb) const;
  [[noreturn]] void Race(const uint8_t* address, const char* verb, const Moment& other) const;

  std::vector<uint8_t> bytes_;
  std::vector<Mark> marks_;
  uint32_t first_phase_ = 0;
};

}  // namespace anllm::soft
