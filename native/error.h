/** The one exception of the addon; `code` is an EngineErrorCode of extension/engine/errors.ts. */
#pragma once

#include <stdexcept>
#include <string>

namespace anllm {

class Error : public std::runtime_error {
 public:
  Error(const char* code, const std::string& message) : std::runtime_error(message), code_(code) {}
  const char* code() const { return code_; }

 private:
  const char* code_;
};

inline Error BadRequest(const std::string& message) {
  return Error("bad_request", message);
}
inline Error BadModel(const std::string& message) {
  return Error("bad_model", message);
}
inline Error Unsupported(const std::string& message) {
  return Error("unsupported", message);
}

}  // namespace anllm
