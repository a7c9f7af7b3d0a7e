#include "kernel_source.h"

#include <cstdint>

#include "../../error.h"
#include "kernel_text.inc"  // made by scripts/build/kernel-text.mjs: kKernelSources

namespace anllm::metal::apple {

const KernelSource& SourceOfKernel(const std::string& kernel) {
  const std::string name = " " + kernel + " ";
  for (const KernelSource& source : kKernelSources) {
    if (std::string(source.kernels).find(name) != std::string::npos) return source;
  }
  throw Unsupported("[metal] no kernel is called " + kernel);
}

std::string KeyOfKernels(const std::string& salt) {
  // FNV-1a: a name for a file, which is checked by the system when it is loaded.
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  add(salt);
  for (const KernelSource& source : kKernelSources) add(source.text);
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

}  // namespace anllm::metal::apple
