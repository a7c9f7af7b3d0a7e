/**
 * Compiles kernels for a GPU that need not be there. usage: check [sm_90] [LIST]; a list has a line for each
 * pipeline, the kernel and the values of all constants, as the soft device writes it to ANLLM_PIPELINE_LOG.
 * Without one, every kernel with some constants.
 */
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "../cuda_device.h"

namespace {

using namespace anllm;

struct Entry {
  std::string kernel;
  metal::Constants constants;
};

std::vector<Entry> ReadList(const char* path) {
  std::vector<Entry> entries;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Entry entry;
    words >> entry.kernel;
    for (size_t id = 0; id < sizeof(metal::Constants) / sizeof(uint32_t); id++)
      words >> reinterpret_cast<uint32_t*>(&entry.constants)[id];
    entries.push_back(entry);
  }
  return entries;
}

std::vector<Entry> AnyConstants() {
  std::vector<Entry> entries;
  for (const std::string& kernel : cuda::KernelNames()) {
    for (const uint32_t bits : {4u, 3u, 0u}) {
      entries.push_back({kernel,
                         {.weight_type = bits == 0 ? DTYPE_BF16 : DTYPE_AFFINE,
                          .bits = bits,
                          .group_size = 64,
                          .scale_type = DTYPE_BF16,
                          .norm = NORM_RMS,
                          .has_norm_weight = 1,
                          .is_glu = bits == 3,
                          .activation = ACTIVATION_SILU,
                          .simdgroups = 4,
                          .split = 2,
                          .key_dim = 128,
                          .value_dim = 128,
                          .kv_type = DTYPE_F16,
                          .heads_per_simdgroup = 4}});
    }
  }
  return entries;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string architecture = count > 1 ? arguments[1] : "sm_90";
  int failures = 0;
  for (const Entry& entry : count > 2 ? ReadList(arguments[2]) : AnyConstants()) {
    try {
      cuda::CompiledKernel(entry.kernel, entry.constants, architecture);
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
      failures++;
    }
  }
  return failures > 0 ? 1 : 0;
}
