#include "gpu_cores.h"

#include <dlfcn.h>

#include "command_buffer.h"

// The tests name a stand-in.
#if !defined(ANLLM_IOKIT_LIBRARY)
#define ANLLM_IOKIT_LIBRARY "/System/Library/Frameworks/IOKit.framework/IOKit"
#endif

namespace anllm::metal::apple {
namespace {

/** More than any GPU has: a number above is not one of cores. */
constexpr UInteger kMostCores = 1024;

/**
 * Functions of IOKit (https://developer.apple.com/documentation/iokit). Entries are numbers, 0 being none;
 * dictionaries and properties are objects of Foundation to whom gets them.
 */
struct Registry {
  /** A dictionary, owned, which the next function takes over. */
  void* (*matching)(uint64_t id);
  uint32_t (*matching_entry)(uint32_t port, void* dictionary);
  /** An owned object, or null. */
  Id (*create_property)(uint32_t entry, Id key, const void* allocator, uint32_t options);
  int (*release)(uint32_t entry);

  bool Load() {
    void* library = dlopen(ANLLM_IOKIT_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    return library != nullptr && FindSymbol(library, "IORegistryEntryIDMatching", &matching) &&
           FindSymbol(library, "IOServiceGetMatchingService", &matching_entry) &&
           FindSymbol(library, "IORegistryEntryCreateCFProperty", &create_property) &&
           FindSymbol(library, "IOObjectRelease", &release);
  }
};

}  // namespace

uint32_t GpuCores(Id device) {
  Registry registry;
  if (!registry.Load()) return 0;
  const AutoreleasePool pool;
  const uint32_t entry = registry.matching_entry(0, registry.matching(send::RegistryId(device)));
  if (entry == 0) return 0;
  const Reference cores(registry.create_property(entry, StringOf("gpu-core-count"), nullptr, 0));
  registry.release(entry);
  const Selector number{send::UnsignedIntegerValue.selector()};
  if (!cores || !send::RespondsToSelector(cores.get(), number)) return 0;
  const UInteger count = send::UnsignedIntegerValue(cores.get());
  return count <= kMostCores ? static_cast<uint32_t>(count) : 0;
}

}  // namespace anllm::metal::apple
