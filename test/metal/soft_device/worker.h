/** Runs the threads of one threadgroup at a time, each on a fibre, in an order that never varies. */
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fault.h"
#include "fibre.h"
#include "threadgroup_memory.h"
#include "vector.h"

namespace anllm::soft {

constexpr uint32_t kSimdWidth = 32;
constexpr uint32_t kMaxThreads = 1024;

/** One dispatch, ready to run. */
struct Dispatch {
  const char* kernel;
  uint3 groups;
  uint32_t threads;
  /** Length of the threadgroup memory that the dispatch gives; arrays in the kernel follow it. */
  uint32_t threadgroup_bytes;
  void (*run)(const void* arguments, uint3 group, uint32_t thread);
  const void* arguments;
};

/**
 * A fibre takes the next thread when its thread has ended, so a kernel without barriers runs as a loop on one
 * fibre. A thread that waits (at a barrier or a simdgroup operation) hands over to the next one that can run;
 * when none can, the barrier was not reached by all and that is a fault.
 */
class Worker {
 public:
  Worker();
  ~Worker();

  /** Throws KernelFault. */
  void Run(const Dispatch& dispatch);
  /** Work before this point is finished before any after it begins. */
  void Barrier() { barrier = task; }

  // What follows is called by kernels, on the running thread.

  void GroupBarrier(Site site);
  void SimdBarrier(Site site);
  /**
   * Gives `value` to all lanes of the simdgroup; when the last lane has come, it calls combine(values,
   * results) and every lane returns its own result. Both arrays have a place for each of the 32 lanes.
   */
  template <class Result, class Value, class Combine>
  Result Collective(const Value& value, Site site, Combine combine);

  /** The same memory for every thread that makes the same calls in the same order. */
  uint8_t* AllocateThreadgroup(size_t bytes);
  ThreadgroupMemory& threadgroup_memory() { return threadgroup_memory_; }
  size_t threadgroup_bytes() const { return threadgroup_bytes_; }

  uint32_t lanes() const;
  Moment moment() const;
  std::string NameOfTask(uint32_t task) const;
  [[noreturn]] void FaultHere(const std::string& what);

  /** The running threadgroup, counted over all dispatches from 1, and the last one before a barrier. */
  uint32_t task = 0;
  uint32_t barrier = 0;

 private:
  enum class Wait : uint8_t { kNotStarted, kRunning, kGroup, kSimd, kDone };
  struct Thread {
    Wait wait = Wait::kNotStarted;
    uint32_t phase = 0;  // of what it waits for
    size_t allocated = 0;
    Fibre* fibre = nullptr;
    Site site;
  };
  static constexpr size_t kSlotBytes = 16;
  struct Simdgroup {
    uint32_t phase = 0;    // collectives completed
    uint32_t arrived = 0;  // lanes waiting for the next one
    uint32_t barriers = 0;
    Site site;
    // Two sets: a lane may come to the next collective while others still read the results of this one.
    alignas(16) std::array<std::array<uint8_t, kSimdWidth * kSlotBytes>, 2> values;
    alignas(16) std::array<std::array<uint8_t, kSimdWidth * kSlotBytes>, 2> results;
  };

  static void FibreBody(void* self);
  void RunThreads();
  void Suspend(Wait wait, uint32_t phase, Site site);
  /** The next thread that can run after `from`; kMaxThreads when all have ended. Throws KernelFault. */
  uint32_t NextThread(uint32_t from);
  bool CanRun(uint32_t thread) const;
  bool ReleaseGroupBarrier();
  /** Goes on with a thread that has a fibre or takes a free one; never with the running fibre's own. */
  Fibre& FibreOf(uint32_t thread);
  [[noreturn]] void Divergence();

  const Dispatch* dispatch_ = nullptr;
  uint3 group_{};
  uint32_t current_ = 0;
  uint32_t next_ = 0;
  std::array<Thread, kMaxThreads> threads_;
  std::array<Simdgroup, kMaxThreads / kSimdWidth> simdgroups_;
  uint32_t group_phase_ = 0;

  Fibre root_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Fibre*> free_fibres_;
  Fibre* running_ = nullptr;
  std::string fault_;

  ThreadgroupMemory threadgroup_memory_;
  size_t threadgroup_bytes_ = 0;

  struct Task {
    uint32_t first;
    const char* kernel;
  };
  std::vector<Task> dispatches_;
};

/** The worker whose thread is running. */
extern Worker* worker;

template <class Result, class Value, class Combine>
Result Worker::Collective(const Value& value, Site site, Combine combine) {
  static_assert(sizeof(Value) <= kSlotBytes && sizeof(Result) <= kSlotBytes);
  Simdgroup& simdgroup = simdgroups_[current_ / kSimdWidth];
  const uint32_t lane = current_ % kSimdWidth;
  const uint32_t set = simdgroup.phase & 1;
  if (simdgroup.arrived == 0) {
    simdgroup.site = site;
  } else if (!(simdgroup.site == site)) [[unlikely]] {
    FaultHere("is at " + ToString(site) + " while lanes of its simdgroup wait at " +
              ToString(simdgroup.site));
  }
  auto* values = reinterpret_cast<Value*>(simdgroup.values[set].data());
  auto* results = reinterpret_cast<Result*>(simdgroup.results[set].data());
  values[lane] = value;
  if (++simdgroup.arrived == lanes()) {
    simdgroup.arrived = 0;
    simdgroup.phase++;
    combine(values, results);
  } else {
    Suspend(Wait::kSimd, simdgroup.phase, site);
  }
  return results[lane];
}

}  // namespace anllm::soft
