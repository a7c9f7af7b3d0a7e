/** The text of the kernels, as Metal's compiler gets it. */
#pragma once

#include <string>

namespace anllm::metal::apple {

/** A .metal file with all headers put in place, and the kernels that it defines. */
struct KernelSource {
  const char* file;
  /** Names, each between blanks. */
  const char* kernels;
  const char* text;
};

/** The file that defines a kernel. Throws Error unsupported when none does. */
const KernelSource& SourceOfKernel(const std::string& kernel);

/** 16 digits that differ when the text of a kernel does, or `salt`. */
std::string KeyOfKernels(const std::string& salt);

}  // namespace anllm::metal::apple
