/** Metal's objects in the stand-in runtime. */
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../soft_device/soft_device.h"
#include "runtime.h"

namespace anllm::stand_in {

using Selector = const char*;
struct Size {
  uint64_t width, height, depth;
};

inline const Class& Named(const char* name) {
  return Classes().at(name);
}

struct String : Object {
  explicit String(std::string value) : Object(&Named("NSString")), text(std::move(value)) {}
  std::string text;
};
struct Error : Object {
  explicit Error(std::string value) : Object(&Named("NSError")), text(std::move(value)) {}
  std::string text;
};
struct Device : Object {
  Device() : Object(&Named("MTLDevice")) {}
  soft::SoftDevice soft;
  /** Pipelines of all devices that came from no archive. */
  inline static int compiled = 0;
};
/** Objects of Metal keep their device alive. */
struct OfDevice : Object {
  OfDevice(const char* name, Device* of) : Object(&Named(name)), device(of) { device->references++; }
  ~OfDevice() override {
    if (--device->references == 0) delete device;
  }
  Device* device;
};
struct Buffer : OfDevice {
  explicit Buffer(Device* of) : OfDevice("MTLBuffer", of) {}
  std::unique_ptr<metal::Buffer> soft;
};
/** Holds references to other objects while it lives. */
struct Holder {
  ~Holder() {
    for (Object* object : held)
      if (--object->references == 0) delete object;
  }
  void Hold(Object* object) {
    object->references++;
    held.push_back(object);
  }
  std::vector<Object*> held;
};
struct ResidencySet : OfDevice {
  explicit ResidencySet(Device* of) : OfDevice("MTLResidencySet", of) {}
  Holder allocations;
  bool is_committed = false;
  bool is_requested = false;
};
struct Queue : OfDevice {
  explicit Queue(Device* of) : OfDevice("MTLCommandQueue", of) {}
  Holder residency_sets;
};
struct Options : Object {
  Options() : Object(&Named("MTLCompileOptions")) {}
  uint64_t version = 0;
  bool has_fast_math = true;
};
struct Values : Object {
  Values() : Object(&Named("MTLFunctionConstantValues")) {}
  metal::Constants constants;
};
struct Library : OfDevice {
  explicit Library(Device* of) : OfDevice("MTLLibrary", of) {}
  std::string source;
};
struct Function : OfDevice {
  explicit Function(Device* of) : OfDevice("MTLFunction", of) {}
  std::string name;
  metal::Constants constants;
};
struct Url : Object {
  Url() : Object(&Named("NSURL")) {}
  std::string path;
};
struct Array : Object {
  Array() : Object(&Named("NSArray")) {}
  Holder objects;
};
struct PipelineDescriptor : Object {
  PipelineDescriptor() : Object(&Named("MTLComputePipelineDescriptor")) {}
  Function* function = nullptr;
  Array* archives = nullptr;
  Holder fields;
};
struct ArchiveDescriptor : Object {
  ArchiveDescriptor() : Object(&Named("MTLBinaryArchiveDescriptor")) {}
  std::string path;
};
/** Of a pipeline it keeps its name and constants, a line each. */
struct Archive : OfDevice {
  explicit Archive(Device* of) : OfDevice("MTLBinaryArchive", of) {}
  std::set<std::string> lines;
};
struct ResidencyDescriptor : Object {
  ResidencyDescriptor() : Object(&Named("MTLResidencySetDescriptor")) {}
};
struct Pipeline : OfDevice {
  explicit Pipeline(Device* of) : OfDevice("MTLComputePipelineState", of) {}
  std::unique_ptr<metal::Pipeline> soft;
  uint64_t max_threads = 0;
};
struct Commands : OfDevice {
  explicit Commands(Device* of) : OfDevice("MTLCommandBuffer", of) {}
  std::unique_ptr<metal::CommandBuffer> soft;
  Holder used;
  bool is_encoding = false;
  bool is_committed = false;
  std::string failure;
};
struct Encoder : Object {
  explicit Encoder(Commands* of) : Object(&Named("MTLComputeCommandEncoder")), commands(of) {
    commands->references++;
  }
  ~Encoder() override {
    if (!is_ended) Wrong("an encoder goes before endEncoding");
    if (--commands->references == 0) delete commands;
  }
  Commands* commands;
  Pipeline* pipeline = nullptr;
  bool is_ended = false;
};

/** Gives `error` a reason. */
void Fail(Object** error, const std::string& why);
Object* NewPipeline(Object* self, Selector, PipelineDescriptor* descriptor, uint64_t options,
                    Object** reflection, Object** error);
Object* NewArchive(Object* self, Selector, ArchiveDescriptor* descriptor, Object** error);
Object* NewResidencySet(Object* self, Selector, ResidencyDescriptor* descriptor, Object** error);
void AddResidencySet(Object* self, Selector, ResidencySet* set);
void RemoveResidencySet(Object* self, Selector, ResidencySet* set);

template <class Result, class... Arguments>
Method Of(const char* encoding, Result (*function)(Arguments...)) {
  return {encoding, reinterpret_cast<void (*)()>(function)};
}

template <class Type>
Object* New(Object*, Selector) {
  return new Type();
}

/** Of the device, in the registry of iokit.cpp. */
constexpr uint64_t kRegistryId = 4294968311;
/** What the registry's properties are. */
std::map<std::string, Class> RegistryClasses();

/** Archives of pipelines and residency sets, and what describes them. */
std::map<std::string, Class> KeptClasses();

}  // namespace anllm::stand_in
