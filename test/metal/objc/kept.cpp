/** What Metal keeps: compiled pipelines in archives on disk, and memory that is resident. */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>

#include "../soft_device/kernel.h"
#include "objects.h"

namespace anllm::stand_in {
namespace {

constexpr const char* kFirstLine = "stand-in archive";

/** A function as a line of an archive. */
std::string LineOf(const Function& function) {
  std::string line = function.name;
  for (size_t id = 0; id < sizeof(metal::Constants) / 4; id++) {
    uint32_t value;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&function.constants) + 4 * id, 4);
    line += " " + std::to_string(value);
  }
  return line;
}

Object* NewUrl(Object*, Selector, String* path) {
  auto* url = new Url();
  url->path = path->text;
  return Autorelease(url);
}

Object* NewArray(Object*, Selector, Object* object) {
  auto* array = new Array();
  array->objects.Hold(object);
  return Autorelease(array);
}

void SetFunction(Object* self, Selector, Function* function) {
  auto* descriptor = static_cast<PipelineDescriptor*>(self);
  descriptor->function = function;
  descriptor->fields.Hold(function);
}

void SetArchives(Object* self, Selector, Array* archives) {
  auto* descriptor = static_cast<PipelineDescriptor*>(self);
  descriptor->archives = archives;
  descriptor->fields.Hold(archives);
}

void SetUrl(Object* self, Selector, Url* url) {
  static_cast<ArchiveDescriptor*>(self)->path = url->path;
}

bool AddFunctions(Object* self, Selector, PipelineDescriptor* descriptor, Object**) {
  static_cast<Archive*>(self)->lines.insert(LineOf(*descriptor->function));
  return true;
}

bool Serialize(Object* self, Selector, Url* url, Object** error) {
  std::ofstream file(url->path);
  file << kFirstLine << "\n";
  for (const std::string& line : static_cast<Archive*>(self)->lines) file << line << "\n";
  file.close();
  if (!file) Fail(error, "the archive cannot be written");
  return static_cast<bool>(file);
}

void AddAllocation(Object* self, Selector, Buffer* buffer) {
  auto* set = static_cast<ResidencySet*>(self);
  set->allocations.Hold(buffer);
  set->is_committed = false;
}

std::atomic<int> residency_requests{0};

void RequestResidency(Object* self, Selector) {
  auto* set = static_cast<ResidencySet*>(self);
  if (!set->is_committed) Wrong("requestResidency before commit");
  set->is_requested = true;
  residency_requests++;
}

void EndResidency(Object* self, Selector) {
  auto* set = static_cast<ResidencySet*>(self);
  if (!set->is_requested) Wrong("endResidency without requestResidency");
  set->is_requested = false;
}

}  // namespace

void Fail(Object** error, const std::string& why) {
  if (error != nullptr) *error = Autorelease(new Error(why));
}

Object* NewPipeline(Object* self, Selector, PipelineDescriptor* descriptor, uint64_t options,
                    Object** reflection, Object** error) {
  constexpr uint64_t kFailOnMiss = 4;
  if (reflection != nullptr || (options != 0 && options != kFailOnMiss))
    Wrong("newComputePipelineState: expected no reflection and known options");
  const Function& function = *descriptor->function;
  const auto has_line = [&](Object* archive) {
    return static_cast<Archive*>(archive)->lines.count(LineOf(function)) > 0;
  };
  const bool is_found =
      descriptor->archives != nullptr && std::any_of(descriptor->archives->objects.held.begin(),
                                                     descriptor->archives->objects.held.end(), has_line);
  if (options == kFailOnMiss && !is_found) {
    Fail(error, "the archives have no " + function.name);
    return nullptr;
  }
  auto* device = static_cast<Device*>(self);
  if (!is_found) device->compiled++;
  auto* pipeline = new Pipeline(device);
  pipeline->soft = device->soft.NewPipeline(function.name, function.constants);
  pipeline->max_threads = soft::FindKernel(function.name)->max_threads;
  return pipeline;
}

Object* NewArchive(Object* self, Selector, ArchiveDescriptor* descriptor, Object** error) {
  auto archive = std::make_unique<Archive>(static_cast<Device*>(self));
  if (descriptor->path.empty()) return archive.release();
  std::ifstream file(descriptor->path);
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) {
    Fail(error, "the archive is of another system");
    return nullptr;
  }
  while (std::getline(file, line)) archive->lines.insert(line);
  return archive.release();
}

Object* NewResidencySet(Object* self, Selector, ResidencyDescriptor*, Object**) {
  return new ResidencySet(static_cast<Device*>(self));
}

void AddResidencySet(Object* self, Selector, ResidencySet* set) {
  static_cast<Queue*>(self)->residency_sets.Hold(set);
}

void RemoveResidencySet(Object* self, Selector, ResidencySet* set) {
  auto& held = static_cast<Queue*>(self)->residency_sets.held;
  const auto found = std::find(held.begin(), held.end(), set);
  if (found == held.end()) Wrong("removeResidencySet of one that was not added");
  held.erase(found);
  set->references--;
}

std::map<std::string, Class> KeptClasses() {
  return {
      {"NSURL", {"NSURL", {}, {{"fileURLWithPath:", Of("@@:@", NewUrl)}}}},
      {"NSArray",
       {"NSArray",
        {{"firstObject", Of(
                             "@@:",
                             +[](Object* o, Selector) {
                               const auto& held = static_cast<Array*>(o)->objects.held;
                               return held.empty() ? nullptr : held[0];
                             })}},
        {{"arrayWithObject:", Of("@@:@", NewArray)}}}},
      {"MTLComputePipelineDescriptor",
       {"MTLComputePipelineDescriptor",
        {{"setComputeFunction:", Of("v@:@", SetFunction)}, {"setBinaryArchives:", Of("v@:@", SetArchives)}},
        {{"new", Of("@@:", New<PipelineDescriptor>)}}}},
      {"MTLBinaryArchiveDescriptor",
       {"MTLBinaryArchiveDescriptor",
        {{"setUrl:", Of("v@:@", SetUrl)}},
        {{"new", Of("@@:", New<ArchiveDescriptor>)}}}},
      {"MTLBinaryArchive",
       {"MTLBinaryArchive",
        {{"addComputePipelineFunctionsWithDescriptor:error:", Of("B@:@^@", AddFunctions)},
         {"serializeToURL:error:", Of("B@:@^@", Serialize)}},
        {}}},
      {"MTLResidencySetDescriptor",
       {"MTLResidencySetDescriptor", {}, {{"new", Of("@@:", New<ResidencyDescriptor>)}}}},
      {"MTLResidencySet",
       {"MTLResidencySet",
        {{"addAllocation:", Of("v@:@", AddAllocation)},
         {"commit",
          Of(
              "v@:", +[](Object* o, Selector) { static_cast<ResidencySet*>(o)->is_committed = true; })},
         {"requestResidency", Of("v@:", RequestResidency)},
         {"endResidency", Of("v@:", EndResidency)}},
        {}}},
  };
}

}  // namespace anllm::stand_in

/** For the tests: how often sets were asked for. */
extern "C" __attribute__((visibility("default"))) int anllm_residency_requests() {
  return anllm::stand_in::residency_requests;
}
/** For the tests: pipelines that no archive had. */
extern "C" __attribute__((visibility("default"))) int anllm_compiled_pipelines() {
  return anllm::stand_in::Device::compiled;
}
