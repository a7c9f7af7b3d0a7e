/** A few threads that share one step's work. */
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace anllm {

/**
 * Runs tasks 0 … count - 1 on the calling thread and its workers. A thread takes the next task when it has
 * finished one, so a thread that the system puts aside delays no more than the task that it holds; which
 * thread runs a task has no influence on the result of a kernel.
 *
 * Workers wait for the next loop by spinning while a step runs (loops follow each other within microseconds),
 * give their core away between looks, and sleep soon after it ends: on a machine with two cores the
 * JavaScript thread needs one.
 */
class ThreadPool {
 public:
  /** `thread` is 0 for the caller, 1 … threads - 1 for workers. Must not throw. */
  using Task = void (*)(void* context, int64_t index, int thread);

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /** Returns when all tasks have run. Called by one thread at a time, never from a task. */
  void ParallelFor(int64_t count, Task task, void* context);
  /** Wakes sleeping workers ahead of the first loop of a step; `EndStep` lets them sleep again. */
  void BeginStep();
  void EndStep();

 private:
  void Work(int thread);
  /** Takes tasks of the current loop until none is left; true when it ran any. */
  bool TakeTasks(int thread);
  bool HasTasks() const;
  void Sleep();
  void Wake();

  /**
   * Loop number (24 bits), number of tasks (20) and next task (20), so that a ticket is valid for one loop
   * only.
   */
  alignas(64) std::atomic<uint64_t> loop_{0};
  alignas(64) std::atomic<int64_t> finished_{0};
  alignas(64) Task task_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> in_step_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int> sleeping_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace anllm
