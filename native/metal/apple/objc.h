/**
 * The Objective-C runtime without Apple's headers: objects are pointers, and a message is a C call whose
 * types the caller knows (https://developer.apple.com/documentation/objectivec/objective-c_runtime).
 */
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace anllm::metal::apple {

using Id = void*;
using Class = void*;
using Sel = void*;
using UInteger = uint64_t;
using Integer = int64_t;

/** MTLSize */
struct Size {
  UInteger width;
  UInteger height;
  UInteger depth;
};

/** False, and null, where the library has no such function. */
template <class Function>
bool FindSymbol(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

/** Functions of the runtime and of Metal, looked up in their libraries. */
struct Runtime {
  Class (*get_class)(const char* name);
  Sel (*register_selector)(const char* name);
  /** Called through the type of each message. */
  void (*send)();
  void (*release)(Id object);
  Id (*retain)(Id object);
  void* (*push_pool)();
  void (*pop_pool)(void* pool);
  Id (*create_system_default_device)();
  Id (*copy_all_devices)();

  /** Null when this system does not have them. The libraries stay loaded. */
  static const Runtime* Load();
};

/** The runtime that `Load` found; only where a device exists. */
const Runtime& TheRuntime();

/** An argument's code in the runtime's type encodings. */
template <class T>
constexpr const char* EncodingOf();
template <>
constexpr const char* EncodingOf<void>() {
  return "v";
}
template <>
constexpr const char* EncodingOf<Id>() {
  return "@";
}
template <>
constexpr const char* EncodingOf<UInteger>() {
  return "Q";
}
template <>
constexpr const char* EncodingOf<Integer>() {
  return "q";
}
template <>
constexpr const char* EncodingOf<bool>() {
  return "B";
}
template <>
constexpr const char* EncodingOf<const char*>() {
  return "*";
}
template <>
constexpr const char* EncodingOf<Size>() {
  return "{MTLSize=QQQ}";
}
/** Memory, and a place for an error: the runtime calls them differently from objects. */
struct Bytes {
  const void* address;
};
template <>
constexpr const char* EncodingOf<Bytes>() {
  return "^v";
}
struct ErrorPlace {
  Id* error;
};
template <>
constexpr const char* EncodingOf<ErrorPlace>() {
  return "^@";
}
/** A Sel as an argument; the type alone would be an object's. */
struct Selector {
  Sel name;
};
template <>
constexpr const char* EncodingOf<Selector>() {
  return ":";
}
/** A block that is not given. */
struct NoBlock {
  void* block;
};
template <>
constexpr const char* EncodingOf<NoBlock>() {
  return "@?";
}
static_assert(sizeof(Bytes) == sizeof(void*) && sizeof(ErrorPlace) == sizeof(void*) &&
              sizeof(NoBlock) == sizeof(void*) && sizeof(Selector) == sizeof(void*));

/** A message with the types of its arguments; see selectors.h for all of them. */
template <class Result, class... Arguments>
class Message {
 public:
  explicit constexpr Message(const char* name) : name_(name) {}

  const char* name() const { return name_; }
  /** Looked up once: a step sends thousands of messages, and the runtime's table has a lock. */
  Sel selector() const {
    Sel selector = selector_.load(std::memory_order_relaxed);
    if (selector == nullptr) {
      selector = TheRuntime().register_selector(name_);
      selector_.store(selector, std::memory_order_relaxed);
    }
    return selector;
  }
  /** As `method_getTypeEncoding` gives it, without the offsets. */
  std::string encoding() const {
    std::string text = std::string(EncodingOf<Result>()) + "@:";
    ((text += EncodingOf<Arguments>()), ...);
    return text;
  }
  Result operator()(Id receiver, Arguments... arguments) const {
    using Function = Result (*)(Id, Sel, Arguments...);
    return reinterpret_cast<Function>(TheRuntime().send)(receiver, selector(), arguments...);
  }

 private:
  const char* name_;
  mutable std::atomic<Sel> selector_{nullptr};
};

/** Owns one reference to an object. */
class Reference {
 public:
  Reference() = default;
  /** Takes over what a method of the new family returned. */
  explicit Reference(Id owned) : object_(owned) {}
  /** Adds a reference to what a method lent. */
  static Reference Retain(Id lent) {
    return Reference(lent == nullptr ? nullptr : TheRuntime().retain(lent));
  }
  ~Reference() {
    if (object_ != nullptr) TheRuntime().release(object_);
  }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  Id get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Id object_ = nullptr;
};

/** Objects that methods lend inside live until the end of the scope. */
class AutoreleasePool {
 public:
  AutoreleasePool() : pool_(TheRuntime().push_pool()) {}
  ~AutoreleasePool() { TheRuntime().pop_pool(pool_); }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  void* pool_;
};

}  // namespace anllm::metal::apple
