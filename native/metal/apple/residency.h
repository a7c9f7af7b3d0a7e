/** Memory that stays where the GPU reads it at once. */
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "../device.h"
#include "objc.h"

namespace anllm::metal::apple {

/**
 * A residency set (macOS 15). The system lets go of memory that the GPU has not read for about a second, and
 * the first token after a pause then waits until all of it is there again; so the set is asked for again and
 * again while its user is at work.
 */
class Residency {
 public:
  explicit Residency(Id device) : device_(device) {}
  ~Residency() { End(); }

  /** Of a queue that takes the place of the last one. */
  void SetQueue(Id queue);
  /** Until `End`; nothing on macOS 14. */
  void Keep(const std::vector<const Buffer*>& buffers);
  void End();
  /** A step begins. */
  void Touch();

 private:
  using Clock = std::chrono::steady_clock;

  void Beat();
  bool IsAtWork() const;

  const Id device_;
  Id queue_ = nullptr;
  /** Null: nothing is kept, or the system cannot. */
  Reference set_;
  std::thread beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point last_step_;
  bool is_ending_ = false;
};

}  // namespace anllm::metal::apple
