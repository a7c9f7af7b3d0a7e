#include <nvrtc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "cuda_device.h"

namespace anllm::cuda {
namespace {

struct CudaSource {
  const char* file;
  const char* kernels;
  const char* text;
};

#include "cuda_kernels.inc"

const CudaSource& SourceOf(const std::string& kernel) {
  for (const CudaSource& source : kCudaSources) {
    if (std::string(source.kernels).find(" " + kernel + " ") != std::string::npos) return source;
  }
  throw std::runtime_error("no kernel is called " + kernel);
}

std::string LogOf(nvrtcProgram program) {
  size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  return log;
}

}  // namespace

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const CudaSource& source : kCudaSources) {
    std::istringstream words(source.kernels);
    for (std::string name; words >> name;) names.push_back(name);
  }
  return names;
}

std::vector<char> CompiledKernel(const std::string& kernel, const metal::Constants& constants,
                                 const std::string& architecture) {
  const char* folder = std::getenv("ANLLM_CUBINS");
  if (folder == nullptr) return CompileKernel(kernel, constants, architecture);
  std::ostringstream name;
  name << folder << "/" << architecture << "-" << kernel;
  for (size_t id = 0; id < sizeof(constants) / sizeof(uint32_t); id++)
    name << "-" << reinterpret_cast<const uint32_t*>(&constants)[id];
  if (std::ifstream file(name.str(), std::ios::binary); file) {
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  const std::vector<char> image = CompileKernel(kernel, constants, architecture);
  const std::string temporary = name.str() + "." + std::to_string(getpid());
  std::ofstream(temporary, std::ios::binary).write(image.data(), static_cast<std::streamsize>(image.size()));
  std::rename(temporary.c_str(), name.str().c_str());
  return image;
}

std::vector<char> CompileKernel(const std::string& kernel, const metal::Constants& constants,
                                const std::string& architecture) {
  const CudaSource& source = SourceOf(kernel);
  std::ostringstream text;
  text << "#define ANLLM_KERNELS 1\n";
  for (size_t id = 0; id < sizeof(constants) / sizeof(uint32_t); id++) {
    uint32_t value;
    std::memcpy(&value, reinterpret_cast<const uint32_t*>(&constants) + id, sizeof(value));
    text << "#define ANLLM_CONSTANT_" << id << " " << value << "u\n";
  }
  text << kTarget << source.text;
  nvrtcProgram program = nullptr;
  if (nvrtcCreateProgram(&program, text.str().c_str(), source.file, 0, nullptr, nullptr) != NVRTC_SUCCESS)
    throw std::runtime_error("NVRTC makes no program");
  const std::string target = "--gpu-architecture=" + architecture;
  // Sums are those of the text, as on the soft device.
  const char* options[] = {target.c_str(), "--std=c++17",  "-default-device",
                           "-lineinfo",    "--fmad=false", "-w"};
  const nvrtcResult result = nvrtcCompileProgram(program, 6, options);
  if (result != NVRTC_SUCCESS) throw std::runtime_error(kernel + ": " + LogOf(program));
  size_t size = 0;
  nvrtcGetCUBINSize(program, &size);
  std::vector<char> image(size);
  nvrtcGetCUBIN(program, image.data());
  nvrtcDestroyProgram(&program);
  return image;
}

}  // namespace anllm::cuda
