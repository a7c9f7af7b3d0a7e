/** Metal's classes for the stand-in runtime, with the soft device behind them and what Apple's validation
 * forbids. */
#include <cstdlib>
#include <cstring>

#include "../soft_device/kernel.h"
#include "objects.h"

namespace anllm::stand_in {
namespace {

Encoder& Open(Object* self) {
  auto& encoder = *static_cast<Encoder*>(self);
  if (encoder.is_ended) Wrong("a message to an encoder after endEncoding");
  return encoder;
}

Object* NewLibrary(Object* self, Selector, String* source, Options* options, Object** error) {
  constexpr uint64_t kVersion31 = 0x30001;
  if (options->version != kVersion31 || options->has_fast_math)
    Wrong("options: expected Metal 3.1 without fast math");
  if (source->text.find("KERNEL(") == std::string::npos ||
      source->text.find("#include \"") != std::string::npos) {
    Fail(error, "the source has no kernel, or a header is missing");
    return nullptr;
  }
  auto* library = new Library(static_cast<Device*>(self));
  library->source = source->text;
  return library;
}

Object* NewFunction(Object* self, Selector, String* name, Values* values, Object** error) {
  auto* library = static_cast<Library*>(self);
  if (library->source.find("KERNEL(" + name->text + ",") == std::string::npos) {
    Fail(error, "the library has no function " + name->text);
    return nullptr;
  }
  auto* function = new Function(library->device);
  function->name = name->text;
  function->constants = values->constants;
  return function;
}

void SetConstant(Object* self, Selector, const void* value, uint64_t type, uint64_t index) {
  constexpr uint64_t kUInt = 33;
  if (type != kUInt || index * 4 >= sizeof(metal::Constants)) Wrong("a constant of another type or index");
  std::memcpy(reinterpret_cast<uint8_t*>(&static_cast<Values*>(self)->constants) + 4 * index, value, 4);
}

Object* NewBuffer(Object* self, Selector, uint64_t length, uint64_t options) {
  if (length == 0 || options != 0) Wrong("newBuffer: expected a length, and shared storage");
  auto* buffer = new Buffer(static_cast<Device*>(self));
  buffer->soft = buffer->device->soft.NewBuffer(length);
  return buffer;
}

Object* NewBufferNoCopy(Object* self, Selector, void* bytes, uint64_t length, uint64_t options, void* block) {
  constexpr uint64_t kPage = 4096;
  if (reinterpret_cast<uintptr_t>(bytes) % kPage != 0 || length % kPage != 0 || options != 0 ||
      block != nullptr)
    Wrong("newBufferWithBytesNoCopy: expected whole pages");
  auto* buffer = new Buffer(static_cast<Device*>(self));
  buffer->soft = buffer->device->soft.WrapMemory(bytes, length);
  return buffer;
}

bool IsSet(const char* name) {
  return std::getenv(name) != nullptr;
}

/** ANLLM_STAND_IN_MACOS_14: the system that lacks residency sets. */
bool RespondsTo(Object* self, Selector, const char* name) {
  const bool is_new = std::strcmp(name, "newResidencySetWithDescriptor:error:") == 0;
  if (is_new && IsSet("ANLLM_STAND_IN_MACOS_14")) return false;
  return self->isa->methods.count(name) > 0;
}

/** ANLLM_STAND_IN_BYTES: of memory that the GPU works with. */
uint64_t WorkingBytes(Object*, Selector) {
  const char* bytes = std::getenv("ANLLM_STAND_IN_BYTES");
  return bytes == nullptr ? uint64_t{1} << 33 : std::strtoull(bytes, nullptr, 10);
}

/** ANLLM_STAND_IN_VIRTUAL: the GPU that a virtual machine has. */
Object* DeviceName(Object*, Selector) {
  return Autorelease(new String(IsSet("ANLLM_STAND_IN_VIRTUAL") ? "Apple Paravirtual device" : "stand-in"));
}
bool SupportsFamily(Object*, Selector, int64_t family) {
  return family <= (IsSet("ANLLM_STAND_IN_VIRTUAL") ? 1005 : 1007);
}

/** Faults stop a queue, not the device. */
Object* NewQueue(Object* self, Selector) {
  auto* device = static_cast<Device*>(self);
  device->soft.Restart();
  return new Queue(device);
}

Object* NewCommands(Object* self, Selector) {
  auto* commands = new Commands(static_cast<Queue*>(self)->device);
  commands->soft = commands->device->soft.NewCommandBuffer();
  return Autorelease(commands);
}

Object* NewEncoder(Object* self, Selector, uint64_t dispatch_type) {
  auto* commands = static_cast<Commands*>(self);
  if (commands->is_encoding || commands->is_committed || dispatch_type != 1)
    Wrong("a second or late encoder");
  commands->is_encoding = true;
  return Autorelease(new Encoder(commands));
}

void SetPipeline(Object* self, Selector, Pipeline* pipeline) {
  Encoder& encoder = Open(self);
  encoder.pipeline = pipeline;
  encoder.commands->used.Hold(pipeline);
  encoder.commands->soft->SetPipeline(*pipeline->soft);
}

void SetBuffer(Object* self, Selector, Buffer* buffer, uint64_t offset, uint64_t index) {
  Encoder& encoder = Open(self);
  encoder.commands->used.Hold(buffer);
  // A binding reaches to the end of the buffer.
  encoder.commands->soft->SetBuffer(static_cast<uint32_t>(index),
                                    {buffer->soft.get(), offset, buffer->soft->size() - offset});
}

void SetBytes(Object* self, Selector, const void* bytes, uint64_t length, uint64_t index) {
  Open(self).commands->soft->SetBytes(static_cast<uint32_t>(index), bytes, length);
}

void SetThreadgroupMemory(Object* self, Selector, uint64_t length, uint64_t index) {
  if (length % 16 != 0 || index != 0) Wrong("threadgroup memory: expected a multiple of 16 at index 0");
  Open(self).commands->soft->SetThreadgroupMemory(static_cast<uint32_t>(length));
}

void DispatchGroups(Object* self, Selector, Size groups, Size threads) {
  Encoder& encoder = Open(self);
  if (encoder.pipeline == nullptr) Wrong("a dispatch without a pipeline");
  if (threads.height != 1 || threads.depth != 1 || threads.width > encoder.pipeline->max_threads)
    Wrong("a threadgroup of a size that the pipeline does not take");
  encoder.commands->soft->Dispatch({static_cast<uint32_t>(groups.width), static_cast<uint32_t>(groups.height),
                                    static_cast<uint32_t>(groups.depth)},
                                   static_cast<uint32_t>(threads.width));
  // Metal keeps a dispatch's state for the next one; the encoder sets all of it anew.
  encoder.pipeline = nullptr;
}

void Barrier(Object* self, Selector, uint64_t scope) {
  if (scope != 1) Wrong("memoryBarrierWithScope: expected buffers");
  Open(self).commands->soft->Barrier();
}

void EndEncoding(Object* self, Selector) {
  Encoder& encoder = Open(self);
  encoder.is_ended = true;
  encoder.commands->is_encoding = false;
}

void Commit(Object* self, Selector) {
  auto* commands = static_cast<Commands*>(self);
  if (commands->is_encoding || commands->is_committed) Wrong("commit before endEncoding, or twice");
  commands->is_committed = true;
  commands->soft->Commit();
}

void Wait(Object* self, Selector) {
  auto* commands = static_cast<Commands*>(self);
  if (!commands->is_committed) Wrong("waitUntilCompleted before commit");
  try {
    commands->soft->WaitUntilCompleted();
  } catch (const std::exception& error) {
    commands->failure = error.what();
  }
}

}  // namespace

const std::map<std::string, Class>& Classes() {
  using std::string;
  const auto text_of = [](Object* self, Selector) { return static_cast<String*>(self)->text.c_str(); };
  const auto new_string = [](Object*, Selector, const char* text) { return Autorelease(new String(text)); };
  const auto reason = [](Object* self, Selector) {
    return Autorelease(new String(static_cast<Error*>(self)->text));
  };
  static const std::map<string, Class> classes = [&] {
    std::map<string, Class> own = {
        {"NSString",
         {"NSString",
          {{"UTF8String", Of("*@:", +text_of)}},
          {{"stringWithUTF8String:", Of("@@:*", +new_string)}}}},
        {"NSError", {"NSError", {{"localizedDescription", Of("@@:", +reason)}}, {}}},
        {"MTLCompileOptions",
         {"MTLCompileOptions",
          {{"setLanguageVersion:",
            Of(
                "v@:Q", +[](Object* o, Selector, uint64_t v) { static_cast<Options*>(o)->version = v; })},
           {"setFastMathEnabled:",
            Of(
                "v@:B",
                +[](Object* o, Selector, bool on) { static_cast<Options*>(o)->has_fast_math = on; })}},
          {{"new", Of("@@:", New<Options>)}}}},
        {"MTLFunctionConstantValues",
         {"MTLFunctionConstantValues",
          {{"setConstantValue:type:atIndex:", Of("v@:^vQQ", SetConstant)}},
          {{"new", Of("@@:", New<Values>)}}}},
        {"MTLDevice",
         {"MTLDevice",
          {{"name", Of("@@:", DeviceName)},
           {"supportsFamily:", Of("B@:q", SupportsFamily)},
           {"registryID", Of(
                              "Q@:", +[](Object*, Selector) { return kRegistryId; })},
           {"hasUnifiedMemory", Of(
                                    "B@:", +[](Object*, Selector) { return true; })},
           {"maxBufferLength", Of(
                                   "Q@:", +[](Object*, Selector) { return uint64_t{1} << 34; })},
           {"recommendedMaxWorkingSetSize", Of("Q@:", WorkingBytes)},
           {"newBufferWithLength:options:", Of("@@:QQ", NewBuffer)},
           {"newBufferWithBytesNoCopy:length:options:deallocator:", Of("@@:^vQQ@?", NewBufferNoCopy)},
           {"newCommandQueue", Of("@@:", NewQueue)},
           {"newLibraryWithSource:options:error:", Of("@@:@@^@", NewLibrary)},
           {"newComputePipelineStateWithDescriptor:options:reflection:error:", Of("@@:@Q^@^@", NewPipeline)},
           {"newBinaryArchiveWithDescriptor:error:", Of("@@:@^@", NewArchive)},
           {"newResidencySetWithDescriptor:error:", Of("@@:@^@", NewResidencySet)},
           {"respondsToSelector:", Of("B@::", RespondsTo)}},
          {}}},
        {"MTLBuffer",
         {"MTLBuffer",
          {{"contents",
            Of(
                "^v@:", +[](Object* o, Selector) { return static_cast<Buffer*>(o)->soft->contents(); })}},
          {}}},
        {"MTLLibrary",
         {"MTLLibrary", {{"newFunctionWithName:constantValues:error:", Of("@@:@@^@", NewFunction)}}, {}}},
        {"MTLFunction", {"MTLFunction", {}, {}}},
        {"MTLComputePipelineState",
         {"MTLComputePipelineState",
          {{"maxTotalThreadsPerThreadgroup",
            Of(
                "Q@:", +[](Object* o, Selector) { return static_cast<Pipeline*>(o)->max_threads; })},
           {"threadExecutionWidth", Of(
                                        "Q@:", +[](Object*, Selector) { return uint64_t{32}; })}},
          {}}},
        {"MTLCommandQueue",
         {"MTLCommandQueue",
          {{"commandBuffer", Of("@@:", NewCommands)},
           {"addResidencySet:", Of("v@:@", AddResidencySet)},
           {"removeResidencySet:", Of("v@:@", RemoveResidencySet)}},
          {}}},
        {"MTLCommandBuffer",
         {"MTLCommandBuffer",
          {{"computeCommandEncoderWithDispatchType:", Of("@@:Q", NewEncoder)},
           {"commit", Of("v@:", Commit)},
           {"waitUntilCompleted", Of("v@:", Wait)},
           {"status", Of(
                          "Q@:",
                          +[](Object* o, Selector) {
                            return uint64_t{static_cast<Commands*>(o)->failure.empty() ? 4u : 5u};
                          })},
           {"error", Of(
                         "@@:",
                         +[](Object* o, Selector) {
                           return Autorelease(new Error(static_cast<Commands*>(o)->failure));
                         })}},
          {}}},
        {"MTLComputeCommandEncoder",
         {"MTLComputeCommandEncoder",
          {{"setComputePipelineState:", Of("v@:@", SetPipeline)},
           {"setBuffer:offset:atIndex:", Of("v@:@QQ", SetBuffer)},
           {"setBytes:length:atIndex:", Of("v@:^vQQ", SetBytes)},
           {"setThreadgroupMemoryLength:atIndex:", Of("v@:QQ", SetThreadgroupMemory)},
           {"dispatchThreadgroups:threadsPerThreadgroup:",
            Of("v@:{MTLSize=QQQ}{MTLSize=QQQ}", DispatchGroups)},
           {"memoryBarrierWithScope:", Of("v@:Q", Barrier)},
           {"endEncoding", Of("v@:", EndEncoding)}},
          {}}},
    };
    own.merge(KeptClasses());
    own.merge(RegistryClasses());
    return own;
  }();
  return classes;
}

}  // namespace anllm::stand_in

#define EXPORT extern "C" __attribute__((visibility("default")))

/** ANLLM_STAND_IN_NO_DISPLAY: nobody is logged in, and there is no default device. */
EXPORT void* MTLCreateSystemDefaultDevice() {
  if (anllm::stand_in::IsSet("ANLLM_STAND_IN_NO_DISPLAY")) return nullptr;
  return new anllm::stand_in::Device();
}

EXPORT void* MTLCopyAllDevices() {
  auto* all = new anllm::stand_in::Array();
  auto* device = new anllm::stand_in::Device();
  all->objects.Hold(device);
  device->references--;
  return all;
}
