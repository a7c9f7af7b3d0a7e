#include "threadgroup_memory.h"

#include <string>

#include "fault.h"
#include "worker.h"

namespace anllm::soft {

namespace {

/** What every Apple GPU since M1 gives a threadgroup. */
constexpr size_t kThreadgroupBytes = 32768;

/** Whether a barrier lies between `earlier` and `now`. */
bool IsOrdered(const Moment& earlier, const Moment& now) {
  return earlier.group_phase < now.group_phase || earlier.thread == now.thread ||
         (earlier.simdgroup == now.simdgroup && earlier.simd_phase < now.simd_phase);
}

}  // namespace

ThreadgroupMemory::ThreadgroupMemory() : bytes_(kThreadgroupBytes), marks_(kThreadgroupBytes / kGranule) {}

void ThreadgroupMemory::Reset(uint32_t group_phase) {
  first_phase_ = group_phase;
}

void ThreadgroupMemory::CheckRange(const uint8_t* address, size_t bytes, size_t alignment,
                                   const char* verb) const {
  const auto offset = address - bytes_.data();
  const bool is_inside = offset >= 0 && static_cast<size_t>(offset) + bytes <= worker->threadgroup_bytes();
  if (is_inside && static_cast<size_t>(offset) % alignment == 0) return;
  Fault(std::string(verb) + " " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
        " of the " + std::to_string(worker->threadgroup_bytes()) + " bytes of threadgroup memory" +
        (is_inside ? ": misaligned" : ""));
}

void ThreadgroupMemory::Race(const uint8_t* address, const char* verb, const Moment& other) const {
  const std::string who = other.thread == kMany ? "other threads" : "thread " + std::to_string(other.thread);
  Fault(std::string(verb) + " threadgroup memory at offset " + std::to_string(address - bytes_.data()) +
        ", which " + who + " uses without a barrier between");
}

void ThreadgroupMemory::Read(const uint8_t* address, size_t bytes, size_t alignment) {
  CheckRange(address, bytes, alignment, "reads");
  const Moment now = worker->moment();
  const size_t first = static_cast<size_t>(address - bytes_.data()) / kGranule;
  const size_t last = (static_cast<size_t>(address - bytes_.data()) + bytes - 1) / kGranule;
  for (size_t i = first; i <= last; i++) {
    Mark& mark = marks_[i];
    if (mark.written.group_phase < first_phase_) {
      Fault("reads threadgroup memory at offset " + std::to_string(address - bytes_.data()) +
            " that no thread of the group has written");
    }
    if (!IsOrdered(mark.written, now)) Race(address, "reads", mark.written);
    // A read that a barrier orders before this one is before all that comes after this one.
    if (mark.read.group_phase == now.group_phase && !IsOrdered(mark.read, now)) {
      const bool is_same_simdgroup = mark.read.simdgroup == now.simdgroup;
      mark.read = {kMany, is_same_simdgroup ? now.simdgroup : kMany, now.group_phase, now.simd_phase};
    } else {
      mark.read = now;
    }
  }
}

void ThreadgroupMemory::Write(const uint8_t* address, size_t bytes, size_t alignment) {
  CheckRange(address, bytes, alignment, "writes");
  const Moment now = worker->moment();
  const size_t first = static_cast<size_t>(address - bytes_.data()) / kGranule;
  const size_t last = (static_cast<size_t>(address - bytes_.data()) + bytes - 1) / kGranule;
  for (size_t i = first; i <= last; i++) {
    Mark& mark = marks_[i];
    if (mark.written.group_phase >= first_phase_ && !IsOrdered(mark.written, now)) {
      Race(address, "writes", mark.written);
    }
    if (mark.read.group_phase >= first_phase_ && !IsOrdered(mark.read, now))
      Race(address, "writes", mark.read);
    mark.written = now;
  }
}

void ThreadgroupMemory::Touch(const uint8_t* address, size_t bytes) {
  CheckRange(address, bytes, bytes, "changes");
  if (marks_[static_cast<size_t>(address - bytes_.data()) / kGranule].written.group_phase < first_phase_) {
    Fault("changes threadgroup memory at offset " + std::to_string(address - bytes_.data()) +
          " that no thread of the group has written");
  }
}

}  // namespace anllm::soft
