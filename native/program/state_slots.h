/** Which tokens each slot of recurrent state stands for. */
#pragma once

#include <cstdint>
#include <vector>

#include "batch.h"

namespace anllm::program {

/** A program without state layers has no slots, and then every call does nothing. */
class StateSlots {
 public:
  explicit StateSlots(size_t slots) : positions_(slots, 0) {}

  /**
   * Throws Error bad_request unless every sequence has a slot of its own and starts at position 0 or goes on
   * where its slot stands.
   */
  void Check(const BatchView& batch) const;
  /** Marks all slots of the step as void until `Commit`. */
  void Begin(const Step& step);
  /** The step ended: its slots now stand for its tokens too. */
  void Commit(const Step& step);
  /** Slot `to` becomes an equal of slot `from`. Throws Error bad_request. */
  void Copy(int64_t from, int64_t to);
  /** Throws Error bad_request unless the last step of a slot ended. */
  void ExpectWhole(int64_t slot) const;
  /** Throws Error bad_request, with the place, unless there is such a slot. */
  void ExpectSlot(const char* place, int64_t slot) const;
  /** Slot `slot` stands for `length` tokens from now on. Throws Error bad_request. */
  void Set(int64_t slot, int64_t length);

 private:
  /** Tokens that each slot has seen, or kVoid. */
  std::vector<int64_t> positions_;
};

}  // namespace anllm::program
