#include "memory.h"

#include <algorithm>

#include "fault.h"

namespace anllm::soft {

uint32_t TaskMarks::Read(const uint8_t* address, size_t bytes, uint32_t task, uint32_t barrier) {
  const size_t first = static_cast<size_t>(address - begin_) / kGranule;
  const size_t last = (static_cast<size_t>(address - begin_) + bytes - 1) / kGranule;
  for (size_t i = first; i <= last; i++) {
    const uint32_t writer = marks_[i].writer;
    if (writer > barrier && writer != task) return writer;
    marks_[i].reader = task;
  }
  return 0;
}

uint32_t TaskMarks::Write(const uint8_t* address, size_t bytes, uint32_t task, uint32_t barrier) {
  if (marks_.empty()) marks_.resize((bytes_ + kGranule - 1) / kGranule);
  const size_t first = static_cast<size_t>(address - begin_) / kGranule;
  const size_t last = (static_cast<size_t>(address - begin_) + bytes - 1) / kGranule;
  for (size_t i = first; i <= last; i++) {
    Mark& mark = marks_[i];
    if (mark.writer > barrier && mark.writer != task) return mark.writer;
    if (mark.reader > barrier && mark.reader != task) return mark.reader;
    mark.writer = task;
  }
  return 0;
}

void DeviceFault(const DeviceMemory& memory, const uint8_t* address, size_t bytes, const char* verb) {
  const auto begin = reinterpret_cast<intptr_t>(memory.begin);
  const auto end = reinterpret_cast<intptr_t>(memory.end);
  const auto at = reinterpret_cast<intptr_t>(address);
  const bool is_inside = at >= begin && at + static_cast<intptr_t>(bytes) <= end;
  Fault(std::string(verb) + " " + std::to_string(bytes) + " bytes at offset " + std::to_string(at - begin) +
        " of buffer " + std::to_string(memory.binding) + ", which has " + std::to_string(end - begin) +
        " bytes" + (is_inside ? ": misaligned" : ""));
}

void RaceFault(const DeviceMemory& memory, const uint8_t* address, const char* verb, uint32_t other) {
  Fault(std::string(verb) + " offset " + std::to_string(address - memory.begin) + " of buffer " +
        std::to_string(memory.binding) + ", which " + worker->NameOfTask(other) +
        " uses without a barrier between");
}

}  // namespace anllm::soft
