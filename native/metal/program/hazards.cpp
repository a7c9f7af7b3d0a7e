#include "hazards.h"

#include <algorithm>

namespace anllm::metal {
namespace {

bool Overlap(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

bool AnyOverlap(const std::vector<BufferView>& a, const std::vector<BufferView>& b) {
  return std::any_of(a.begin(), a.end(), [&](const BufferView& x) {
    return std::any_of(b.begin(), b.end(), [&](const BufferView& y) { return Overlap(x, y); });
  });
}

void Append(const std::vector<BufferView>& from, std::vector<BufferView>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

bool Hazards::Conflict(const Accesses& next) const {
  return AnyOverlap(next.reads, since_barrier_.writes) || AnyOverlap(next.writes, since_barrier_.writes) ||
         AnyOverlap(next.writes, since_barrier_.reads);
}

void Hazards::Add(const Accesses& accesses) {
  Append(accesses.reads, &since_barrier_.reads);
  Append(accesses.writes, &since_barrier_.writes);
}

void Hazards::Clear() {
  since_barrier_.reads.clear();
  since_barrier_.writes.clear();
}

}  // namespace anllm::metal
