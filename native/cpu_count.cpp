#include "cpu_count.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sched.h>
#endif

namespace anllm {
namespace {

#if defined(__APPLE__)

int PhysicalCores() {
  for (const char* name : {"hw.perflevel0.physicalcpu", "hw.physicalcpu"}) {
    int count = 0;
    size_t size = sizeof count;
    if (sysctlbyname(name, &count, &size, nullptr, 0) == 0 && count > 0) return count;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

int QuotaCores() {
  return kMaxThreads;
}

#else

/** Hardware threads of one core have the same list of siblings. */
int PhysicalCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return static_cast<int>(std::thread::hardware_concurrency());
  }
  std::set<std::string> cores;
  int unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (std::getline(file, siblings)) {
      cores.insert(siblings);
    } else {
      unknown++;
    }
  }
  return static_cast<int>(cores.size()) + unknown;
}

/** cgroup v2: "<microseconds> <period>", or "max <period>". */
int QuotaCores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return kMaxThreads;
  return static_cast<int>(quota / period);
}

#endif

}  // namespace

int DefaultThreads() {
  return std::clamp(std::min(PhysicalCores(), QuotaCores()), 1, kMaxThreads);
}

}  // namespace anllm
