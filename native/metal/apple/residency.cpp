#include "residency.h"

#include "command_buffer.h"

namespace anllm::metal::apple {
namespace {

/** Well below the second after which memory is let go. */
constexpr std::chrono::milliseconds kBeat{250};
/** As long a pause as somebody thinks between two keystrokes or questions; later a laptop may rest. */
constexpr std::chrono::minutes kAtWork{3};

}  // namespace

void Residency::SetQueue(Id queue) {
  queue_ = queue;
  if (set_) send::AddResidencySet(queue_, set_.get());
}

void Residency::Keep(const std::vector<const Buffer*>& buffers) {
  End();
  const Selector selector{send::NewResidencySet.selector()};
  if (!send::RespondsToSelector(device_, selector)) return;  // macOS 14
  const AutoreleasePool pool;
  const Reference descriptor(send::New(TheRuntime().get_class("MTLResidencySetDescriptor")));
  Id error = nullptr;
  set_ = Reference(send::NewResidencySet(device_, descriptor.get(), {&error}));
  if (!set_) return;
  for (const Buffer* buffer : buffers)
    send::AddAllocation(set_.get(), static_cast<const MetalBuffer*>(buffer)->get());
  send::Commit(set_.get());
  send::RequestResidency(set_.get());
  send::AddResidencySet(queue_, set_.get());
  last_step_ = Clock::now();
  is_ending_ = false;
  beat_ = std::thread([this] { Beat(); });
}

void Residency::End() {
  if (!set_) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  beat_.join();
  send::RemoveResidencySet(queue_, set_.get());
  send::EndResidency(set_.get());
  set_ = Reference();
}

void Residency::Touch() {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  const bool was_at_work = IsAtWork();
  last_step_ = Clock::now();
  if (!was_at_work) changed_.notify_one();
}

bool Residency::IsAtWork() const {
  return Clock::now() - last_step_ < kAtWork;
}

void Residency::Beat() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || IsAtWork(); });
    if (changed_.wait_for(lock, kBeat, [this] { return is_ending_; })) return;
    // A step does not wait for it.
    lock.unlock();
    {
      const AutoreleasePool pool;
      send::RequestResidency(set_.get());
    }
    lock.lock();
  }
}

}  // namespace anllm::metal::apple
