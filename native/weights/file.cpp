#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "../error.h"

namespace anllm::weights {
namespace {

std::string LastError() {
  return std::generic_category().message(errno);
}

int64_t SizeOf(int descriptor) {
  struct stat info = {};
  return fstat(descriptor, &info) == 0 ? int64_t{info.st_size} : 0;
}

}  // namespace

Files::~Files() {
  for (const auto& [path, descriptor] : descriptors_) close(descriptor);
}

void Files::Open(const StoredTensor& tensor) {
  if (tensor.is_absent || !tensor.bytes.empty() || descriptors_.count(tensor.file) > 0) return;
  const int descriptor = open(tensor.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw BadModel(tensor.file + ": cannot be opened: " + LastError());
  descriptors_.emplace(tensor.file, descriptor);
}

Bytes Files::Read(const StoredTensor& tensor, int64_t begin, int64_t end) const {
  if (tensor.is_absent) throw Error("not_packed", tensor.name + ": left out");
  if (!tensor.bytes.empty()) return {tensor.bytes.begin() + begin, tensor.bytes.begin() + end};
  Bytes bytes(static_cast<size_t>(end - begin));
  const int descriptor = descriptors_.at(tensor.file);
  for (size_t done = 0; done < bytes.size();) {
    const off_t at = static_cast<off_t>(tensor.offset + begin) + static_cast<off_t>(done);
    const ssize_t count = pread(descriptor, bytes.data() + done, bytes.size() - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw BadModel(tensor.file + ": " + tensor.name + ": cannot be read: " + LastError());
    if (count == 0) {
      throw BadModel(tensor.file + ": " + tensor.name + ": the file ends at byte " +
                     std::to_string(SizeOf(descriptor)) +
                     "; it was cut or replaced after it was opened, download it again");
    }
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace anllm::weights
