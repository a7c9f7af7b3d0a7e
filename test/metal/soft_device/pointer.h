/** Checked pointers to device and threadgroup memory. */
#pragma once

#include <cstring>
#include <type_traits>

#include "memory.h"
#include "threadgroup_memory.h"

namespace anllm::soft {

/** Device memory: `Space::CheckRead` and so on with the binding that the pointer came from. */
struct DeviceSpace {
  using Memory = const DeviceMemory*;
  static void Read(Memory memory, const uint8_t* address, size_t bytes, size_t alignment) {
    CheckRead(*memory, address, bytes, alignment);
  }
  static void Write(Memory memory, const uint8_t* address, size_t bytes, size_t alignment) {
    CheckWrite(*memory, address, bytes, alignment);
  }
};

struct ThreadgroupSpace {
  using Memory = ThreadgroupMemory*;
  static void Read(Memory memory, const uint8_t* address, size_t bytes, size_t alignment) {
    memory->Read(address, bytes, alignment);
  }
  static void Write(Memory memory, const uint8_t* address, size_t bytes, size_t alignment) {
    memory->Write(address, bytes, alignment);
  }
};

template <class T, class Space>
class Pointer;

/** What dereferencing a pointer to non-const gives: reads and writes are told apart. */
template <class T, class Space>
class Reference {
 public:
  Reference(uint8_t* address, typename Space::Memory memory) : address_(address), memory_(memory) {}

  operator T() const {
    Space::Read(memory_, address_, sizeof(T), alignof(T));
    T value;
    std::memcpy(&value, address_, sizeof(T));
    return value;
  }
  const Reference& operator=(const T& value) const {
    Space::Write(memory_, address_, sizeof(T), alignof(T));
    std::memcpy(address_, &value, sizeof(T));
    return *this;
  }
  const Reference& operator=(const Reference& other) const { return *this = T(other); }
  const Reference& operator+=(const T& value) const { return *this = T(*this) + value; }
  const Reference& operator*=(const T& value) const { return *this = T(*this) * value; }

 private:
  uint8_t* address_;
  typename Space::Memory memory_;
};

template <class T, class Space>
class Pointer {
  using Memory = typename Space::Memory;
  using Byte = std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>;

 public:
  using Element = T;

  Pointer() = default;
  Pointer(Byte* address, Memory memory) : address_(address), memory_(memory) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Pointer(const Pointer<U, Space>& other) : address_(other.address()), memory_(other.memory()) {}

  /** The same address as a pointer to U; const stays. */
  template <class U>
  Pointer<U, Space> As() const {
    static_assert(std::is_const_v<U> || !std::is_const_v<T>, "a cast must not drop const");
    return {address_, memory_};
  }

  template <class Index>
  Pointer operator+(Index index) const {
    return {address_ + static_cast<ptrdiff_t>(index) * static_cast<ptrdiff_t>(sizeof(T)), memory_};
  }
  template <class Index>
  Pointer& operator+=(Index index) {
    return *this = *this + index;
  }

  template <class Index>
  auto operator[](Index index) const {
    const Pointer element = *this + index;
    if constexpr (std::is_const_v<T>) {
      std::remove_const_t<T> value;
      Space::Read(memory_, element.address_, sizeof(T), alignof(T));
      std::memcpy(&value, element.address_, sizeof(T));
      return value;
    } else {
      return Reference<T, Space>(element.address_, memory_);
    }
  }
  auto operator*() const { return (*this)[0]; }

  Byte* address() const { return address_; }
  Memory memory() const { return memory_; }

 private:
  Byte* address_ = nullptr;
  Memory memory_{};
};

template <class T>
using DevicePointer = Pointer<T, DeviceSpace>;
template <class T>
using ThreadgroupPointer = Pointer<T, ThreadgroupSpace>;

}  // namespace anllm::soft
