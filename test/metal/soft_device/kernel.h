/** The kernels and function constants of the .metal files, by name. */
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pointer.h"
#include "worker.h"

namespace anllm::soft {

constexpr unsigned kMaxBindings = 24;

/** A kernel's parameters; the index is the binding, as Metal's [[buffer(index)]] says it. */
template <class T, unsigned kIndex>
struct DeviceArgument : DevicePointer<T> {};
template <class T, unsigned kIndex>
struct ConstantArgument : T {};
template <class T, unsigned kIndex>
struct ThreadgroupArgument : ThreadgroupPointer<T> {};

/** What a dispatch gives to a kernel: memory of each binding, or the bytes of its parameters. */
struct Bindings {
  DeviceMemory memory[kMaxBindings];
  const void* bytes[kMaxBindings] = {};
  size_t sizes[kMaxBindings] = {};
  ThreadgroupMemory* threadgroup_memory = nullptr;
};

class Kernel {
 public:
  explicit Kernel(uint32_t max_threads) : max_threads(max_threads) {}
  virtual ~Kernel() = default;
  /** Sets grid, threads and so on aside: fills what the kernel alone knows. `bindings` must outlive the
   * dispatch. */
  virtual void Prepare(const Bindings& bindings, Dispatch& dispatch) = 0;

  /** Most threads of a threadgroup. */
  const uint32_t max_threads;
};

[[noreturn]] void BadBinding(unsigned index, const char* expected);

template <class Argument>
struct ArgumentOf;
template <class T, unsigned kIndex>
struct ArgumentOf<DeviceArgument<T, kIndex>> {
  static DeviceArgument<T, kIndex> Make(const Bindings& bindings) {
    const DeviceMemory& memory = bindings.memory[kIndex];
    if (memory.begin == nullptr) BadBinding(kIndex, "a buffer");
    DeviceArgument<T, kIndex> argument;
    static_cast<DevicePointer<T>&>(argument) = {const_cast<uint8_t*>(memory.begin), &memory};
    return argument;
  }
};
template <class T, unsigned kIndex>
struct ArgumentOf<ConstantArgument<T, kIndex>> {
  static ConstantArgument<T, kIndex> Make(const Bindings& bindings) {
    if (bindings.bytes[kIndex] == nullptr || bindings.sizes[kIndex] != sizeof(T)) {
      BadBinding(kIndex, "the bytes of its parameters");
    }
    ConstantArgument<T, kIndex> argument;
    std::memcpy(static_cast<T*>(&argument), bindings.bytes[kIndex], sizeof(T));
    return argument;
  }
};
template <class T, unsigned kIndex>
struct ArgumentOf<ThreadgroupArgument<T, kIndex>> {
  static ThreadgroupArgument<T, kIndex> Make(const Bindings& bindings) {
    static_assert(kIndex == 0, "the dispatch gives one length of threadgroup memory");
    ThreadgroupArgument<T, kIndex> argument;
    static_cast<ThreadgroupPointer<T>&>(argument) = {bindings.threadgroup_memory->base(),
                                                     bindings.threadgroup_memory};
    return argument;
  }
};

template <class... Arguments>
class KernelOf : public Kernel {
 public:
  using Function = void (*)(Arguments..., uint3, uint32_t, uint32_t, uint32_t);
  KernelOf(uint32_t max_threads, Function function) : Kernel(max_threads), call_{function, {}} {}

  void Prepare(const Bindings& bindings, Dispatch& dispatch) override {
    call_.arguments = {ArgumentOf<std::remove_cvref_t<Arguments>>::Make(bindings)...};
    dispatch.arguments = &call_;
    dispatch.run = [](const void* arguments, uint3 group, uint32_t thread) {
      const Call& call = *static_cast<const Call*>(arguments);
      std::apply(
          [&](const auto&... a) {
            call.function(a..., group, thread, thread % kSimdWidth, thread / kSimdWidth);
          },
          call.arguments);
    };
  }

 private:
  struct Call {
    Function function;
    std::tuple<std::remove_cvref_t<Arguments>...> arguments;
  };
  Call call_;
};

/** Deduces the arguments of a kernel function, whose last four are GRID. */
template <class Function, class Indices>
struct MakeKernel;
template <class... All, size_t... kIndices>
struct MakeKernel<void (*)(All...), std::index_sequence<kIndices...>> {
  using Type = KernelOf<std::tuple_element_t<kIndices, std::tuple<All...>>...>;
};

void AddKernel(const char* name, std::unique_ptr<Kernel> kernel);
/** Null when there is none. */
Kernel* FindKernel(const std::string& name);

template <class... All>
bool DefineKernel(const char* name, uint32_t max_threads, void (*function)(All...)) {
  using Type = typename MakeKernel<void (*)(All...), std::make_index_sequence<sizeof...(All) - 4>>::Type;
  AddKernel(name, std::make_unique<Type>(max_threads, function));
  return true;
}

/** Where function constant `id` lies; its value is copied there before each dispatch. */
bool DefineConstant(unsigned id, void* variable, size_t bytes);
/** All constants; those that are not given become 0, as a fixed starting point for tests. */
void SetConstants(const std::vector<std::pair<uint32_t, uint32_t>>& values);

}  // namespace anllm::soft
