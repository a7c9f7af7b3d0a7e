#include "objc.h"

#include <dlfcn.h>

// The tests name a stand-in.
#if !defined(ANLLM_OBJC_LIBRARY)
#define ANLLM_OBJC_LIBRARY "/usr/lib/libobjc.A.dylib"
#define ANLLM_METAL_LIBRARY "/System/Library/Frameworks/Metal.framework/Metal"
#endif

namespace anllm::metal::apple {
namespace {

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

/** Null pointers where something is missing. */
Runtime LoadRuntime() {
  Runtime runtime{};
  void* objc = dlopen(ANLLM_OBJC_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  void* metal = dlopen(ANLLM_METAL_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (objc == nullptr || metal == nullptr) return {};
  const bool is_complete = Find(objc, "objc_getClass", &runtime.get_class) &&
                           Find(objc, "sel_registerName", &runtime.register_selector) &&
                           Find(objc, "objc_msgSend", &runtime.send) &&
                           Find(objc, "objc_release", &runtime.release) &&
                           Find(objc, "objc_retain", &runtime.retain) &&
                           Find(objc, "objc_autoreleasePoolPush", &runtime.push_pool) &&
                           Find(objc, "objc_autoreleasePoolPop", &runtime.pop_pool) &&
                           Find(metal, "MTLCreateSystemDefaultDevice", &runtime.create_system_default_device);
  return is_complete ? runtime : Runtime{};
}

}  // namespace

const Runtime& TheRuntime() {
  static const Runtime runtime = LoadRuntime();
  return runtime;
}

const Runtime* Runtime::Load() {
  const Runtime& runtime = TheRuntime();
  return runtime.send == nullptr ? nullptr : &runtime;
}

}  // namespace anllm::metal::apple
