/** The registry of devices in the stand-in runtime: one entry, the GPU. */
#include <cstdlib>
#include <cstring>

#include "objects.h"

namespace anllm::stand_in {
namespace {

constexpr uint32_t kEntry = 77;
int open_entries = 0;

struct Dictionary : Object {
  explicit Dictionary(uint64_t id) : Object(&Named("NSDictionary")), registry_id(id) {}
  uint64_t registry_id;
};
struct Number : Object {
  explicit Number(uint64_t of) : Object(&Named("NSNumber")), value(of) {}
  uint64_t value;
};

}  // namespace

std::map<std::string, Class> RegistryClasses() {
  const auto responds = [](Object* self, Selector, const char* name) {
    return self->isa->methods.count(name) > 0;
  };
  const auto value = [](Object* self, Selector) { return static_cast<Number*>(self)->value; };
  return {{"NSDictionary", {"NSDictionary", {}, {}}},
          {"NSNumber",
           {"NSNumber",
            {{"unsignedIntegerValue", Of("Q@:", +value)}, {"respondsToSelector:", Of("B@::", +responds)}},
            {}}}};
}

}  // namespace anllm::stand_in

using namespace anllm::stand_in;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* IORegistryEntryIDMatching(uint64_t id) {
  return new Dictionary(id);
}

EXPORT uint32_t IOServiceGetMatchingService(uint32_t, Dictionary* dictionary) {
  const bool is_found = dictionary->registry_id == kRegistryId;
  delete dictionary;
  open_entries += is_found ? 1 : 0;
  return is_found ? kEntry : 0;
}

/** ANLLM_STAND_IN_CORES: what it says; unset: nothing. */
EXPORT void* IORegistryEntryCreateCFProperty(uint32_t entry, String* key, const void* allocator,
                                             uint32_t options) {
  if (entry != kEntry || open_entries != 1 || allocator != nullptr || options != 0)
    Wrong("IORegistryEntryCreateCFProperty: expected the GPU's entry and no options");
  const char* cores = std::getenv("ANLLM_STAND_IN_CORES");
  if (cores == nullptr || key->text != "gpu-core-count") return nullptr;
  return new Number(std::strtoull(cores, nullptr, 10));
}

EXPORT int IOObjectRelease(uint32_t entry) {
  if (entry != kEntry || open_entries != 1) Wrong("IOObjectRelease of what is not held");
  open_entries--;
  return 0;
}
