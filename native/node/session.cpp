#include "session.h"

#include <algorithm>

#include "../error.h"
#include "../spin.h"

namespace anllm::node {
namespace {

/**
 * A decode loop asks for the next step after sampling; waking a sleeping thread would cost a tenth of a
 * small model's step.
 */
constexpr std::chrono::microseconds kNextStepSpin{200};

void CleanUp(void* session) {
  static_cast<Session*>(session)->Abandon();
}

}  // namespace

Napi::Error ToError(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", code);
  return error;
}

Session::Session(Napi::Env env, std::unique_ptr<program::Executable> executable)
    : env_(env),
      executable_(std::move(executable)),
      done_(Done::New(env, "anllm step", 0, 1, this)),
      thread_(&Session::Work, this) {
  done_.Unref(env);  // only a running step keeps the process alive
  napi_add_env_cleanup_hook(env_, CleanUp, this);
}

Session::~Session() {
  Shutdown();
}

Napi::Promise Session::Step(Napi::Env env, const program::BatchView& batch, const program::DrawsView& draws) {
  ExpectIdle("[step]");
  executable_->Assign(batch, draws);
  deferred_.emplace(Napi::Promise::Deferred::New(env));
  self_ = shared_from_this();
  cancelled_ = false;
  done_.Ref(env);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_work_ = true;
  }
  wake_.notify_one();
  return deferred_->Promise();
}

Napi::Float32Array Session::Hidden(Napi::Env env) const {
  ExpectIdle("[hidden]");
  const auto [data, rows, cols] = executable_->hidden();
  if (cols == 0) throw BadRequest("[hidden] this program leaves no hidden states");
  const auto size = static_cast<size_t>(rows * cols);
  Napi::Float32Array copy = Napi::Float32Array::New(env, size);
  std::copy_n(data, size, copy.Data());
  return copy;
}

void Session::CopyBlocks(const program::Ints& pairs) {
  ExpectIdle("[copy_blocks]");
  executable_->blocks().Copy(pairs);
}

Napi::Uint8Array Session::ReadBlocks(Napi::Env env, const program::Ints& blocks) const {
  ExpectIdle("[read_blocks]");
  const program::BlockMemory memory = executable_->blocks();
  const size_t size = static_cast<size_t>(blocks.size) * memory.block_bytes();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(env, size);
  memory.Read(blocks, bytes.Data());
  return bytes;
}

void Session::WriteBlocks(const program::Ints& blocks, const uint8_t* bytes, size_t size) {
  ExpectIdle("[write_blocks]");
  executable_->blocks().Write(blocks, bytes, size);
}

void Session::CopyState(int64_t from, int64_t to) {
  ExpectIdle("[copy_state]");
  executable_->state_slots().Copy(from, to);
  const int32_t pair[] = {static_cast<int32_t>(from), static_cast<int32_t>(to)};
  executable_->states().Copy({pair, 2});
}

Napi::Uint8Array Session::ReadState(Napi::Env env, int64_t slot) const {
  ExpectIdle("[read_state]");
  executable_->state_slots().ExpectWhole(slot);
  const program::BlockMemory memory = executable_->states();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(env, memory.block_bytes());
  const auto block = static_cast<int32_t>(slot);
  memory.Read({&block, 1}, bytes.Data());
  return bytes;
}

void Session::WriteState(int64_t slot, int64_t length, const uint8_t* bytes, size_t size) {
  ExpectIdle("[write_state]");
  executable_->state_slots().ExpectSlot("[write_state]", slot);
  const program::BlockMemory memory = executable_->states();
  if (size != memory.block_bytes()) {
    throw BadRequest("[write_state] bytes: got " + std::to_string(size) + ", expected " +
                     std::to_string(memory.block_bytes()));
  }
  const auto block = static_cast<int32_t>(slot);
  memory.Write({&block, 1}, bytes, size);
  executable_->state_slots().Set(slot, length);
}

void Session::SetPlanes(int attention, int others) {
  ExpectIdle("[set_planes]");
  executable_->SetPlanes(attention, others);
}

void Session::ExpectIdle(const char* place) const {
  if (is_disposed_) throw Error("unavailable", std::string(place) + " the model is unloaded");
  if (deferred_) throw BadRequest(std::string(place) + " a step is running; steps run one at a time");
}

void Session::Cancel() {
  if (deferred_) cancelled_ = true;
}

void Session::Dispose() {
  is_disposed_ = true;
  Cancel();
  if (!deferred_) Shutdown();
}

void Session::Abandon() {
  is_disposed_ = true;
  Shutdown();
  deferred_.reset();
  self_.reset();  // perhaps the last owner
}

void Session::Work() {
  const auto has_reason = [this] { return has_work_.load() || stopping_.load(); };
  while (true) {
    if (!SpinUntil(has_reason, kNextStepSpin)) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, has_reason);
    }
    if (stopping_) return;
    has_work_ = false;
    RunStep();
    done_.NonBlockingCall();
  }
}

void Session::RunStep() {
  failure_.clear();
  try {
    is_complete_ = executable_->Run(cancelled_);
  } catch (const std::exception& error) {
    is_complete_ = false;
    failure_ = error.what();
  }
}

void Session::OnDone(Napi::Env env, Napi::Function, Session* session, void*) {
  // Without an environment the process is ending, and the session may be gone.
  if (env != nullptr) session->Settle(env);
}

void Session::Settle(Napi::Env env) {
  const Napi::HandleScope scope(env);
  const std::shared_ptr<Session> self = std::move(self_);
  const Napi::Promise::Deferred deferred = *deferred_;
  deferred_.reset();
  done_.Unref(env);
  try {
    if (!failure_.empty()) {
      deferred.Reject(ToError(env, "internal", failure_).Value());
    } else if (!is_complete_ || is_disposed_) {
      deferred.Reject(ToError(env, "cancelled", "the step was cancelled").Value());
    } else {
      deferred.Resolve(Result(env));
    }
  } catch (const Napi::Error& error) {  // JavaScript has no memory for the logits
    deferred.Reject(error.Value());
  }
  if (is_disposed_) Shutdown();
}

Napi::Value Session::Result(Napi::Env env) const {
  const int64_t rows = executable_->logit_rows();
  const auto width = static_cast<size_t>(executable_->vocab_size());
  Napi::Int32Array ids = Napi::Int32Array::New(env, static_cast<size_t>(rows));
  std::vector<const float*> wanted;
  for (int64_t row = 0; row < rows; row++) {
    const bool is_drawn = executable_->draws().IsWanted(row);
    ids.Data()[row] = is_drawn ? executable_->drawn()[row] : -1;
    if (!is_drawn) wanted.push_back(executable_->logits() + static_cast<size_t>(row) * width);
  }
  Napi::Float32Array logits = Napi::Float32Array::New(env, wanted.size() * width);
  for (size_t i = 0; i < wanted.size(); i++) std::copy_n(wanted[i], width, logits.Data() + i * width);
  Napi::Object result = Napi::Object::New(env);
  result.Set("ids", ids);
  result.Set("logits", logits);
  return result;
}

void Session::Shutdown() {
  if (is_shut_down_) return;
  is_shut_down_ = true;
  cancelled_ = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  done_.Release();
  napi_remove_env_cleanup_hook(env_, CleanUp, this);
  executable_.reset();
}

}  // namespace anllm::node
