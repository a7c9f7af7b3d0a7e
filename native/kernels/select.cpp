#include "select.h"

#include "../error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace anllm {

#if defined(__x86_64__)
namespace avx512 {
extern const Kernels kKernels;
}
namespace avxvnni {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
#elif defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
#endif
namespace scalar {
extern const Kernels kKernels;
}

namespace {

#if defined(__x86_64__)

// CPUID is read here because __builtin_cpu_supports needs tables of the compiler's run-time library, which
// zig lacks.
struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

  explicit Cpuid(unsigned leaf, unsigned subleaf = 0) {
    __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx);
  }
};

constexpr bool HasAll(unsigned word, unsigned bits) {
  return (word & bits) == bits;
}

// Register state that the operating system saves (XCR0): bits 1 and 2 are for AVX, 5 to 7 for AVX-512.
bool SystemSaves(unsigned state) {
  if (!HasAll(Cpuid(1).ecx, bit_OSXSAVE)) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return HasAll(low, state);
}

bool HasAvx2() {
  return HasAll(Cpuid(1).ecx, bit_FMA | bit_F16C) && HasAll(Cpuid(7).ebx, bit_AVX2) && SystemSaves(0x06);
}

bool HasAvx512() {
  const Cpuid features(7);
  return HasAll(features.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
         HasAll(features.ecx, bit_AVX512VNNI) && SystemSaves(0xe6);
}

bool HasAvxVnni() {
  return HasAll(Cpuid(7, 1).eax, 1u << 4);
}

#elif defined(__APPLE__)

bool HasDotProduct() {
  int has = 0;
  size_t size = sizeof has;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, nullptr, 0) == 0 && has != 0;
}

#elif defined(__aarch64__)

bool HasDotProduct() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

#endif

}  // namespace

std::vector<const Kernels*> AvailableKernels() {
  std::vector<const Kernels*> tables;
#if defined(__x86_64__)
  if (HasAvx2()) {
    if (HasAvx512()) tables.push_back(&avx512::kKernels);
    if (HasAvxVnni()) tables.push_back(&avxvnni::kKernels);
    tables.push_back(&avx2::kKernels);
  }
#elif defined(__aarch64__)
  if (HasDotProduct()) tables.push_back(&neon::kKernels);
#endif
  tables.push_back(&scalar::kKernels);
  return tables;
}

const Kernels* SelectKernels(const std::string& isa) {
  std::string names;
  for (const Kernels* kernels : AvailableKernels()) {
    if (isa.empty() || isa == kernels->isa) return kernels;
    names += (names.empty() ? "" : ", ") + std::string(kernels->isa);
  }
  throw Error("unavailable", "instruction set " + isa + ": this machine has " + names);
}

}  // namespace anllm
