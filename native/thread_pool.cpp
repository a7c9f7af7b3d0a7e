#include "thread_pool.h"

#include <algorithm>

#include "spin.h"

namespace anllm {
namespace {

constexpr int kCountBits = 20;
constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
/** A stray ticket of each worker may push `next` past the count; it must not reach the next field. */
constexpr int64_t kMaxTasks = static_cast<int64_t>(kCountMask) - 1024;
/** Between the loops of a step: longer than any serial part, short enough to notice a stalled step. */
constexpr std::chrono::microseconds kStepSpin{2000};
/** After a step: about the time that sampling takes before the next one. */
constexpr std::chrono::microseconds kIdleSpin{50};

uint64_t NextOf(uint64_t loop) {
  return loop & kCountMask;
}
uint64_t CountOf(uint64_t loop) {
  return (loop >> kCountBits) & kCountMask;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; i++) workers_.emplace_back(&ThreadPool::Work, this, i);
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  Wake();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(int64_t count, Task task, void* context) {
  if (workers_.empty() || count == 1) {
    for (int64_t i = 0; i < count; i++) task(context, i, 0);
    return;
  }
  for (int64_t first = 0; first < count; first += kMaxTasks) {
    struct Shifted {
      Task task;
      void* context;
      int64_t first;
    } shifted{task, context, first};
    const int64_t part = std::min(count - first, kMaxTasks);
    finished_.store(0, std::memory_order_relaxed);
    if (first == 0) {
      task_ = task;
      context_ = context;
    } else {
      task_ = [](void* c, int64_t index, int thread) {
        const auto* s = static_cast<Shifted*>(c);
        s->task(s->context, s->first + index, thread);
      };
      context_ = &shifted;
    }
    const uint64_t number = (loop_.load(std::memory_order_relaxed) >> (2 * kCountBits)) + 1;
    loop_.store(number << (2 * kCountBits) | static_cast<uint64_t>(part) << kCountBits);
    if (sleeping_.load() > 0) Wake();
    TakeTasks(0);
    const auto all_finished = [&] { return finished_.load(std::memory_order_acquire) == part; };
    while (!SpinUntil(all_finished, kStepSpin)) {
    }
  }
}

void ThreadPool::BeginStep() {
  in_step_ = true;
  if (sleeping_.load() > 0) Wake();
}

void ThreadPool::EndStep() {
  in_step_ = false;
}

bool ThreadPool::HasTasks() const {
  const uint64_t loop = loop_.load();
  return NextOf(loop) < CountOf(loop);
}

bool ThreadPool::TakeTasks(int thread) {
  if (!HasTasks()) return false;
  // The loop cannot end, and the next not begin, before the tasks that this thread has taken are reported.
  int64_t ran = 0;
  while (true) {
    const uint64_t ticket = loop_.fetch_add(1, std::memory_order_acq_rel);
    if (NextOf(ticket) >= CountOf(ticket)) break;
    task_(context_, static_cast<int64_t>(NextOf(ticket)), thread);
    ran++;
  }
  if (ran > 0) finished_.fetch_add(ran, std::memory_order_acq_rel);
  return ran > 0;
}

void ThreadPool::Work(int thread) {
  const auto has_reason = [this] { return HasTasks() || stopping_.load(); };
  while (!stopping_) {
    if (TakeTasks(thread)) continue;
    if (!SpinUntil(has_reason, in_step_ ? kStepSpin : kIdleSpin) && !in_step_) Sleep();
  }
}

void ThreadPool::Sleep() {
  std::unique_lock<std::mutex> lock(mutex_);
  sleeping_++;
  wake_.wait(lock, [this] { return HasTasks() || in_step_.load() || stopping_.load(); });
  sleeping_--;
}

void ThreadPool::Wake() {
  // Taking the lock orders this call after a worker's last look, so the notification cannot be lost.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
  }
  wake_.notify_all();
}

}  // namespace anllm
