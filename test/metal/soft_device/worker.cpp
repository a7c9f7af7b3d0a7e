#include "worker.h"

#include <algorithm>

namespace anllm::soft {

Worker* worker = nullptr;

std::string ToString(const Site& site) {
  const std::string file = site.file == nullptr ? "?" : site.file;
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.line);
}

void Fault(const std::string& what) {
  worker->FaultHere(what);
}

Worker::Worker() = default;
Worker::~Worker() = default;

void Worker::FaultHere(const std::string& what) {
  throw KernelFault(std::string(dispatch_->kernel) + ", threadgroup (" + std::to_string(group_.x) + ", " +
                    std::to_string(group_.y) + ", " + std::to_string(group_.z) + "), thread " +
                    std::to_string(current_) + ": " + what);
}

std::string Worker::NameOfTask(uint32_t id) const {
  const auto after = std::upper_bound(dispatches_.begin(), dispatches_.end(), id,
                                      [](uint32_t value, const Task& t) { return value < t.first; });
  if (after == dispatches_.begin()) return "an earlier dispatch";
  const Task& found = *(after - 1);
  return "threadgroup " + std::to_string(id - found.first) + " of " + found.kernel;
}

uint32_t Worker::lanes() const {
  const uint32_t first = current_ / kSimdWidth * kSimdWidth;
  return std::min(kSimdWidth, dispatch_->threads - first);
}

Moment Worker::moment() const {
  const uint32_t simdgroup = current_ / kSimdWidth;
  return {static_cast<uint16_t>(current_), static_cast<uint16_t>(simdgroup), group_phase_,
          simdgroups_[simdgroup].barriers};
}

uint8_t* Worker::AllocateThreadgroup(size_t bytes) {
  constexpr size_t kAlignment = 16;
  size_t& allocated = threads_[current_].allocated;
  const size_t begin = allocated;
  allocated = (begin + bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (allocated > threadgroup_memory_.capacity()) {
    FaultHere("needs " + std::to_string(allocated) + " bytes of threadgroup memory, there are " +
              std::to_string(threadgroup_memory_.capacity()));
  }
  threadgroup_bytes_ = std::max(threadgroup_bytes_, begin + bytes);
  return threadgroup_memory_.base() + begin;
}

void Worker::Run(const Dispatch& dispatch) {
  dispatch_ = &dispatch;
  worker = this;
  dispatches_.push_back({task + 1, dispatch.kernel});
  if (dispatches_.size() > 4096) dispatches_.erase(dispatches_.begin(), dispatches_.begin() + 2048);
  for (group_.z = 0; group_.z < dispatch.groups.z; group_.z++) {
    for (group_.y = 0; group_.y < dispatch.groups.y; group_.y++) {
      for (group_.x = 0; group_.x < dispatch.groups.x; group_.x++) RunThreads();
    }
  }
}

void Worker::RunThreads() {
  task++;
  group_phase_++;
  threadgroup_bytes_ = dispatch_->threadgroup_bytes;
  threadgroup_memory_.Reset(group_phase_);
  const size_t allocated = (threadgroup_bytes_ + 15) / 16 * 16;
  for (uint32_t t = 0; t < dispatch_->threads; t++) {
    threads_[t] = {};
    threads_[t].allocated = allocated;
  }
  for (uint32_t s = 0; s * kSimdWidth < dispatch_->threads; s++) {
    simdgroups_[s].arrived = 0;
    simdgroups_[s].barriers = 0;
  }
  next_ = 0;
  fault_.clear();
  Fibre& first = FibreOf(0);
  running_ = &first;
  root_.SwitchTo(first);
  if (!fault_.empty()) {
    // The stacks of the other threads are dropped as they are: kernels own nothing.
    free_fibres_.clear();
    fibres_.clear();
    throw KernelFault(fault_);
  }
}

Fibre& Worker::FibreOf(uint32_t thread) {
  if (threads_[thread].fibre != nullptr) return *threads_[thread].fibre;
  if (free_fibres_.empty()) {
    fibres_.push_back(std::make_unique<Fibre>(&Worker::FibreBody, this));
    free_fibres_.push_back(fibres_.back().get());
  }
  Fibre* fibre = free_fibres_.back();
  free_fibres_.pop_back();
  return *fibre;
}

void Worker::FibreBody(void* self) {
  Worker& w = *static_cast<Worker*>(self);
  while (true) {
    // Runs thread next_, which has not started yet, then looks for another.
    try {
      while (true) {
        w.current_ = w.next_;
        Thread& thread = w.threads_[w.current_];
        thread.wait = Wait::kRunning;
        thread.fibre = w.running_;
        w.dispatch_->run(w.dispatch_->arguments, w.group_, w.current_);
        thread.wait = Wait::kDone;
        thread.fibre = nullptr;
        w.next_ = w.NextThread(w.current_);
        if (w.next_ == kMaxThreads || w.threads_[w.next_].wait != Wait::kNotStarted) break;
      }
    } catch (const std::exception& error) {
      w.fault_ = error.what();
      w.next_ = kMaxThreads;
    }
    Fibre& self_fibre = *w.running_;
    w.free_fibres_.push_back(&self_fibre);
    Fibre& next = w.next_ == kMaxThreads ? w.root_ : *w.threads_[w.next_].fibre;
    w.running_ = &next;
    self_fibre.SwitchTo(next);
  }
}

void Worker::Suspend(Wait wait, uint32_t phase, Site site) {
  const uint32_t self = current_;
  Thread& thread = threads_[self];
  thread.wait = wait;
  thread.phase = phase;
  thread.site = site;
  next_ = NextThread(self);
  if (next_ != self) {
    Fibre& next = FibreOf(next_);
    running_ = &next;
    thread.fibre->SwitchTo(next);
  }
  current_ = self;
  thread.wait = Wait::kRunning;
}

bool Worker::CanRun(uint32_t t) const {
  const Thread& thread = threads_[t];
  switch (thread.wait) {
    case Wait::kNotStarted:
      return true;
    case Wait::kSimd:
      return simdgroups_[t / kSimdWidth].phase != thread.phase;
    case Wait::kGroup:
      return group_phase_ != thread.phase;
    case Wait::kRunning:
    case Wait::kDone:
      return false;
  }
  return false;
}

uint32_t Worker::NextThread(uint32_t from) {
  const uint32_t count = dispatch_->threads;
  const uint32_t begin = from / kSimdWidth * kSimdWidth;
  const uint32_t width = std::min(kSimdWidth, count - begin);
  // The lanes of a simdgroup come first: they mostly wait for each other.
  for (uint32_t i = 1; i <= width; i++) {
    const uint32_t t = begin + (from - begin + i) % width;
    if (CanRun(t)) return t;
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t t = (begin + width + i) % count;
    if (CanRun(t)) return t;
  }
  const auto is_done = [](const Thread& t) { return t.wait == Wait::kDone; };
  if (std::all_of(threads_.begin(), threads_.begin() + count, is_done)) return kMaxThreads;
  if (!ReleaseGroupBarrier()) Divergence();
  return 0;
}

bool Worker::ReleaseGroupBarrier() {
  const Site& site = threads_[0].site;
  for (uint32_t t = 0; t < dispatch_->threads; t++) {
    if (threads_[t].wait != Wait::kGroup || !(threads_[t].site == site)) return false;
  }
  group_phase_++;
  return true;
}

void Worker::Divergence() {
  const auto describe = [this](uint32_t t) {
    const Thread& thread = threads_[t];
    const std::string name = "thread " + std::to_string(t);
    if (thread.wait == Wait::kDone) return name + " has ended";
    const char* what =
        thread.wait == Wait::kGroup ? " waits at the barrier of " : " waits for its simdgroup at ";
    return name + what + ToString(thread.site);
  };
  const auto differs = [this](uint32_t t) {
    return threads_[t].wait != threads_[0].wait || !(threads_[t].site == threads_[0].site);
  };
  uint32_t other = 0;
  while (other < dispatch_->threads && !differs(other)) other++;
  if (other == dispatch_->threads) other = dispatch_->threads - 1;
  FaultHere("diverges: " + describe(0) + ", " + describe(other));
}

void Worker::GroupBarrier(Site site) {
  Suspend(Wait::kGroup, group_phase_, site);
}

void Worker::SimdBarrier(Site site) {
  Simdgroup& simdgroup = simdgroups_[current_ / kSimdWidth];
  Collective<uint32_t>(0u, site, [&](const uint32_t*, uint32_t*) { simdgroup.barriers++; });
}

}  // namespace anllm::soft
