/** An executable with the thread that runs it, as JavaScript holds it. */
#pragma once

#include <napi.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "../program/executable.h"

namespace anllm::node {

/** A JavaScript error with the message and the code of an engine error. */
Napi::Error ToError(Napi::Env env, const std::string& code, const std::string& message);

/**
 * All methods are called on the JavaScript thread. The compute thread only runs steps and announces their
 * end; results are copied into memory of JavaScript, because Electron allows no buffers outside of its cage.
 */
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Napi::Env env, std::unique_ptr<program::Executable> executable);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /**
   * Starts a step; the promise gives { ids: Int32Array [R], logits: Float32Array }: of the rows that are
   * drawn from the token, -1 where the logits are not numbers, and the logits of the others, which have -1
   * too. Throws Error bad_request.
   */
  Napi::Promise Step(Napi::Env env, const program::BatchView& batch, const program::DrawsView& draws);
  /** Of keys and values, as in BlockMemory. Throws Error bad_request, also while a step runs. */
  void CopyBlocks(const program::Ints& pairs);
  Napi::Uint8Array ReadBlocks(Napi::Env env, const program::Ints& blocks) const;
  void WriteBlocks(const program::Ints& blocks, const uint8_t* bytes, size_t size);
  /** Makes a state slot an equal of another. Throws Error bad_request, also while a step runs. */
  void CopyState(int64_t from, int64_t to);
  /** The recurrent state in a slot. Throws Error bad_request, also while a step runs. */
  Napi::Uint8Array ReadState(Napi::Env env, int64_t slot) const;
  /** Puts the state after `length` tokens into a slot. Throws Error bad_request, also while a step runs. */
  void WriteState(int64_t slot, int64_t length, const uint8_t* bytes, size_t size);
  /** Of the activations, as in Executable. Throws Error bad_request, also while a step runs. */
  void SetPlanes(int attention, int others);
  /**
   * Of the last step [T, hidden], undefined when it failed or was cancelled. Throws Error bad_request, also
   * while a step runs.
   */
  Napi::Float32Array Hidden(Napi::Env env) const;
  /** Ends the running step at the next op. */
  void Cancel();
  /** Frees everything, at once or when the running step has ended. */
  void Dispose();
  /** The environment ends: stops at once, and no promise is settled any more. */
  void Abandon();

 private:
  /** Throws Error when the session is disposed or runs a step. */
  void ExpectIdle(const char* place) const;
  static void OnDone(Napi::Env env, Napi::Function, Session* session, void*);
  using Done = Napi::TypedThreadSafeFunction<Session, void, OnDone>;

  /** The compute thread. */
  void Work();
  void RunStep();
  Napi::Value Result(Napi::Env env) const;
  void Settle(Napi::Env env);
  /** Ends the compute thread; nothing of the session runs afterwards. */
  void Shutdown();

  const napi_env env_;
  std::unique_ptr<program::Executable> executable_;
  Done done_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> has_work_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;

  // Of the running step.
  std::optional<Napi::Promise::Deferred> deferred_;
  std::shared_ptr<Session> self_;  // keeps the session until the promise is settled
  bool is_complete_ = false;
  std::string failure_;

  bool is_disposed_ = false;
  bool is_shut_down_ = false;
};

}  // namespace anllm::node
