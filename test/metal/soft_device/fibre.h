/** Stacks that one system thread changes between, at the cost of a few instructions. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace anllm::soft {

/**
 * One stack with what runs on it. The body never returns: it ends by switching away for good. An exception
 * must not leave it.
 */
class Fibre {
 public:
  using Body = void (*)(void* argument);

  /** Stands for the stack that is running now. */
  Fibre();
  /** A new stack on which `body(argument)` runs at the first switch to it. */
  Fibre(Body body, void* argument);
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /** Leaves this fibre, which must be the running one, and goes on with `next`; returns when someone switches
   * back. */
  void SwitchTo(Fibre& next);

 private:
  static void Start(Fibre* self);

  void* stack_pointer_ = nullptr;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  uint8_t* memory_ = nullptr;
  // The bounds of this stack, for AddressSanitizer.
  const void* bottom_ = nullptr;
  size_t size_ = 0;
};

}  // namespace anllm::soft
