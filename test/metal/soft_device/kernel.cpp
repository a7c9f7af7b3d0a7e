#include "kernel.h"

#include <map>
#include <stdexcept>

namespace anllm::soft {

namespace {

std::map<std::string, std::unique_ptr<Kernel>>& Kernels() {
  static std::map<std::string, std::unique_ptr<Kernel>> kernels;
  return kernels;
}

std::map<unsigned, void*>& Constants() {
  static std::map<unsigned, void*> constants;
  return constants;
}

}  // namespace

void BadBinding(unsigned index, const char* expected) {
  throw KernelFault("binding " + std::to_string(index) + " is not " + expected);
}

void AddKernel(const char* name, std::unique_ptr<Kernel> kernel) {
  if (!Kernels().emplace(name, std::move(kernel)).second)
    throw std::logic_error(std::string("two kernels are called ") + name);
}

Kernel* FindKernel(const std::string& name) {
  const auto found = Kernels().find(name);
  return found == Kernels().end() ? nullptr : found->second.get();
}

bool DefineConstant(unsigned id, void* variable, size_t bytes) {
  if (bytes != sizeof(uint32_t)) throw std::logic_error("a function constant has four bytes");
  if (!Constants().emplace(id, variable).second) {
    throw std::logic_error("two function constants have id " + std::to_string(id));
  }
  return true;
}

void SetConstants(const std::vector<std::pair<uint32_t, uint32_t>>& values) {
  for (const auto& [id, variable] : Constants()) std::memset(variable, 0, sizeof(uint32_t));
  for (const auto& [id, value] : values) {
    const auto found = Constants().find(id);
    if (found == Constants().end()) throw KernelFault("there is no function constant " + std::to_string(id));
    std::memcpy(found->second, &value, sizeof(uint32_t));
  }
}

}  // namespace anllm::soft
