#include "step_encoder.h"

#include <deque>

namespace anllm::metal {
namespace {

/** A cancelled step ends with the command buffers that run, so each is short. */
constexpr double kBufferSeconds = 0.008;
/** What the slowest GPU of the family reaches (an M1): bytes and multiplications a second. */
constexpr double kBytesPerSecond = 50e9;
constexpr double kMultipliesPerSecond = 0.7e12;
/** Buffers in flight: one runs, one waits, so that the GPU has no gap. */
constexpr size_t kInFlight = 2;

uint32_t RowsOf(const Command& command, const StepInput& input) {
  return command.rows == Rows::kTokens ? input.step().rows : input.logit_rows();
}

double SecondsOf(const Command& command, uint32_t rows) {
  return static_cast<double>(command.weight_bytes) / kBytesPerSecond +
         static_cast<double>(command.multiplies) * rows / kMultipliesPerSecond;
}

/** Command buffers that run. However a step ends, none of them goes on in memory of the next one. */
class CommandQueue {
 public:
  ~CommandQueue() {
    while (!running_.empty()) {
      try {
        WaitForOldest();
      } catch (const Error&) {
        // The first failure is on its way to the caller.
      }
    }
  }

  size_t size() const { return running_.size(); }
  void Commit(std::unique_ptr<CommandBuffer> commands) {
    commands->Commit();
    running_.push_back(std::move(commands));
  }
  void WaitForOldest() {
    const std::unique_ptr<CommandBuffer> oldest = std::move(running_.front());
    running_.pop_front();
    oldest->WaitUntilCompleted();
  }

 private:
  std::deque<std::unique_ptr<CommandBuffer>> running_;
};

}  // namespace

void StepEncoder::Encode(const Command& command, const StepInput& input) {
  const uint32_t rows = RowsOf(command, input);
  if (rows == 0) return;
  if (hazards_.Conflict(command.accesses)) {
    dispatcher_.Barrier();
    hazards_.Clear();
  }
  command.encode({dispatcher_, input, bound_.scratch}, rows);
  hazards_.Add(command.accesses);
}

void StepEncoder::Encode(const StepInput& input, CommandBuffer& commands) {
  dispatcher_.Begin(commands);
  hazards_.Clear();
  for (const Command& command : bound_.commands) Encode(command, input);
}

bool StepEncoder::Run(const StepInput& input, const std::atomic<bool>& cancelled) {
  CommandQueue running;
  auto next = bound_.commands.begin();
  while (next != bound_.commands.end() && !cancelled.load(std::memory_order_relaxed)) {
    std::unique_ptr<CommandBuffer> commands = dispatcher_.device().NewCommandBuffer();
    dispatcher_.Begin(*commands);
    // Command buffers run one after the other, so nothing of the one before is in the way.
    hazards_.Clear();
    for (double seconds = 0; next != bound_.commands.end() && seconds < kBufferSeconds; ++next) {
      seconds += SecondsOf(*next, RowsOf(*next, input));
      Encode(*next, input);
    }
    running.Commit(std::move(commands));
    if (running.size() == kInFlight) running.WaitForOldest();
  }
  while (running.size() > 0) running.WaitForOldest();
  return next == bound_.commands.end();
}

void StepEncoder::Restart() {
  dispatcher_.Forget();
  dispatcher_.device().Restart();
}

}  // namespace anllm::metal
