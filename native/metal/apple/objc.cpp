#include "objc.h"

// The tests name a stand-in.
#if !defined(ANLLM_OBJC_LIBRARY)
#define ANLLM_OBJC_LIBRARY "/usr/lib/libobjc.A.dylib"
#define ANLLM_METAL_LIBRARY "/System/Library/Frameworks/Metal.framework/Metal"
#define ANLLM_GRAPHICS_LIBRARY "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics"
#endif

namespace anllm::metal::apple {
namespace {

/** Null pointers where something is missing. */
Runtime LoadRuntime() {
  Runtime runtime{};
  void* objc = dlopen(ANLLM_OBJC_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  void* metal = dlopen(ANLLM_METAL_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (objc == nullptr || metal == nullptr) return {};
  // Metal asks it for the default device, and programs without windows have not loaded it.
  dlopen(ANLLM_GRAPHICS_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  const bool is_complete =
      FindSymbol(objc, "objc_getClass", &runtime.get_class) &&
      FindSymbol(objc, "sel_registerName", &runtime.register_selector) &&
      FindSymbol(objc, "objc_msgSend", &runtime.send) && FindSymbol(objc, "objc_release", &runtime.release) &&
      FindSymbol(objc, "objc_retain", &runtime.retain) &&
      FindSymbol(objc, "objc_autoreleasePoolPush", &runtime.push_pool) &&
      FindSymbol(objc, "objc_autoreleasePoolPop", &runtime.pop_pool) &&
      FindSymbol(metal, "MTLCreateSystemDefaultDevice", &runtime.create_system_default_device) &&
      FindSymbol(metal, "MTLCopyAllDevices", &runtime.copy_all_devices);
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
