/** Reading plain JavaScript data, with errors that say where, what was found and what was expected. */
#pragma once

#include <napi.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../error.h"

namespace anllm::program {

/** An object and its place in the data, such as `[linear] norm`. */
class Fields {
 public:
  Fields(Napi::Value value, std::string place);

  const std::string& place() const { return place_; }
  Napi::Value Value(const char* name) const;
  bool IsNull(const char* name) const;
  /** Whether an optional field is there. */
  bool Has(const char* name) const;
  /** An integer in [low, high]. */
  int64_t Integer(const char* name, int64_t low, int64_t high) const;
  /** A finite number. */
  double Number(const char* name) const;
  bool Boolean(const char* name) const;
  std::string String(const char* name) const;
  Fields Object(const char* name) const;
  std::vector<double> Numbers(const char* name) const;
  /**
   * Throws Error unsupported when the object has a field that nobody read: it would change the result, and
   * this backend does not know how.
   */
  void Close() const;
  /** Calls each(value, place) for the elements of an array. */
  template <class Each>
  void ForEach(const char* name, Each each) const {
    const Napi::Array array = Array(name);
    for (uint32_t i = 0; i < array.Length(); i++) {
      each(array.Get(i), place_ + " " + name + "[" + std::to_string(i) + "]");
    }
  }

 private:
  Napi::Array Array(const char* name) const;

  Napi::Object object_;
  std::string place_;
  mutable std::set<std::string> read_;
};

/** Throws Error internal `<place>: got <value>, expected <expected>`. */
[[noreturn]] void Expected(const std::string& place, const Napi::Value& value, const std::string& expected);
int64_t ToInteger(const Napi::Value& value, const std::string& place, int64_t low, int64_t high);

/** The second half of the pair whose first is the string; throws when there is none. */
template <class Value, size_t kSize>
Value OneOf(const Fields& fields, const char* name, const std::pair<const char*, Value> (&choices)[kSize]) {
  const std::string found = fields.String(name);
  std::string expected;
  for (const auto& [text, value] : choices) {
    if (found == text) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(text);
  }
  throw Error("internal", fields.place() + " " + name + ": got " + found + ", expected " + expected);
}

}  // namespace anllm::program
