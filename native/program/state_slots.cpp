#include "state_slots.h"

#include "../error.h"

namespace anllm::program {
namespace {

/** Position of a slot whose last step did not end. */
constexpr int64_t kVoid = -1;

[[noreturn]] void Fail(const std::string& what) {
  throw BadRequest("[step] " + what);
}

}  // namespace

void StateSlots::Check(const BatchView& batch) const {
  if (positions_.empty()) return;
  const int64_t sequences = batch.offsets.size - 1;
  const auto slots = static_cast<int64_t>(positions_.size());
  if (batch.state_slots.size != sequences) {
    Fail("state slots: got " + std::to_string(batch.state_slots.size) + ", expected " +
         std::to_string(sequences));
  }
  for (int64_t s = 0; s < sequences; s++) {
    const int64_t slot = batch.state_slots.data[s];
    const std::string name = "state slot " + std::to_string(slot);
    if (slot < 0 || slot >= slots) Fail(name + ": expected 0 to " + std::to_string(slots - 1));
    for (int64_t other = 0; other < s; other++) {
      if (batch.state_slots.data[other] == slot) Fail(name + ": two sequences share it");
    }
    const int64_t start = batch.positions.data[batch.offsets.data[s]];
    const int64_t seen = positions_[static_cast<size_t>(slot)];
    if (start == 0 || start == seen) continue;
    const std::string found =
        seen == kVoid ? " is void after a failed step" : " holds " + std::to_string(seen) + " tokens";
    Fail(name + found + ", expected " + std::to_string(start));
  }
}

void StateSlots::Begin(const Step& step) {
  if (positions_.empty()) return;
  for (int64_t s = 0; s < step.sequences; s++) positions_[static_cast<size_t>(step.state_slots[s])] = kVoid;
}

void StateSlots::Commit(const Step& step) {
  if (positions_.empty()) return;
  for (int64_t s = 0; s < step.sequences; s++) {
    positions_[static_cast<size_t>(step.state_slots[s])] = step.positions[step.offsets[s + 1] - 1] + 1;
  }
}

void StateSlots::Copy(int64_t from, int64_t to) {
  for (const int64_t slot : {from, to}) ExpectSlot("[copy_state]", slot);
  positions_[static_cast<size_t>(to)] = positions_[static_cast<size_t>(from)];
}

void StateSlots::ExpectWhole(int64_t slot) const {
  ExpectSlot("[read_state]", slot);
  if (positions_[static_cast<size_t>(slot)] != kVoid) return;
  throw BadRequest("[read_state] state slot " + std::to_string(slot) + " is void after a failed step");
}

void StateSlots::Set(int64_t slot, int64_t length) {
  ExpectSlot("[write_state]", slot);
  positions_[static_cast<size_t>(slot)] = length;
}

void StateSlots::ExpectSlot(const char* place, int64_t slot) const {
  const auto slots = static_cast<int64_t>(positions_.size());
  if (slot >= 0 && slot < slots) return;
  throw BadRequest(std::string(place) + " slot: got " + std::to_string(slot) + ", expected one of " +
                   std::to_string(slots) + " state slots");
}

}  // namespace anllm::program
