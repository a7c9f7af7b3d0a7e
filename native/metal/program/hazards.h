/** Which dispatches must wait for earlier ones. */
#pragma once

#include <cstddef>
#include <vector>

#include "../device.h"

namespace anllm::metal {

/** What a command reads and writes. */
struct Accesses {
  std::vector<BufferView> reads;
  std::vector<BufferView> writes;
};

/** The accesses since the last barrier. */
class Hazards {
 public:
  /** Whether a barrier is needed before a command: it reads what was written, or writes what was touched. */
  bool Conflict(const Accesses& next) const;
  void Add(const Accesses& accesses);
  void Clear();

 private:
  Accesses since_barrier_;
};

}  // namespace anllm::metal
