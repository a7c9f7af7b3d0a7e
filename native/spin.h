/** Waiting without sleeping. */
#pragma once

#include <sched.h>

#include <chrono>

namespace anllm {

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/**
 * Looks at `ready` until it is true or `limit` has passed, and says which. After the first microseconds every
 * look gives the core to whoever else wants it.
 */
template <class Ready>
bool SpinUntil(Ready ready, std::chrono::microseconds limit) {
  constexpr int kPauses = 200;
  for (int i = 0; i < kPauses; i++) {
    if (ready()) return true;
    Pause();
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 8; i++) {
      if (ready()) return true;
      Pause();
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < deadline);
  return ready();
}

}  // namespace anllm
