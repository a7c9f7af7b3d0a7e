#include "packed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace anllm::weights {
namespace {

/** Bytes of one task of the checksum, and of one write. */
constexpr size_t kChunk = size_t{4} << 20;
/** What is left of a file is still written at the end of the model when it is no more: a tenth of a second.
 */
constexpr size_t kWorthWaiting = size_t{64} << 20;

/** Stands behind the weights, so that these begin at a page. */
struct Footer {
  uint64_t magic;
  uint64_t bytes;
  uint64_t checksum;
};
/** "anllm", and the version of the file. */
constexpr uint64_t kMagic = 0x0001'006d'6c6c'6e61;

/** Closes a file descriptor. */
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/**
 * Against bad disks and files that were cut, not against enemies: four lanes of multiply and rotate, so that
 * it runs as fast as memory is read. `bytes` is a multiple of 32.
 */
uint64_t HashChunk(const uint8_t* data, size_t bytes) {
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;
  uint64_t lanes[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < bytes; i += 32) {
    uint64_t words[4];
    std::memcpy(words, data + i, 32);
    for (int k = 0; k < 4; k++) {
      lanes[k] = (lanes[k] ^ words[k]) * kPrime;
      lanes[k] = lanes[k] << 29 | lanes[k] >> 35;
    }
  }
  uint64_t sum = bytes;
  for (uint64_t lane : lanes) sum = (sum ^ lane) * kPrime;
  return sum ^ sum >> 32;
}

/** Of the checksums of all chunks. */
uint64_t HashSums(std::vector<uint64_t> sums) {
  sums.resize(AlignUp(sums.size(), 4));
  return HashChunk(reinterpret_cast<const uint8_t*>(sums.data()), sums.size() * 8);
}

struct HashJob {
  const uint8_t* data;
  size_t bytes;
  std::vector<uint64_t> sums;
};

uint64_t Checksum(const uint8_t* data, size_t bytes, ThreadPool* pool) {
  HashJob job{data, bytes, std::vector<uint64_t>((bytes + kChunk - 1) / kChunk)};
  pool->ParallelFor(
      static_cast<int64_t>(job.sums.size()),
      [](void* context, int64_t index, int) {
        auto* of = static_cast<HashJob*>(context);
        const size_t first = static_cast<size_t>(index) * kChunk;
        of->sums[static_cast<size_t>(index)] =
            HashChunk(of->data + first, std::min(kChunk, of->bytes - first));
      },
      &job);
  return HashSums(std::move(job.sums));
}

bool WriteAll(int descriptor, const void* data, size_t bytes) {
  const auto* next = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t count = write(descriptor, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const Descriptor folder(open(slash == std::string::npos ? "." : path.substr(0, slash).c_str(), O_RDONLY));
  if (folder.get() >= 0) fsync(folder.get());
}

std::optional<AlignedBuffer> MapWhole(const std::string& path, size_t bytes, ThreadPool* pool) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return std::nullopt;
  Footer footer = {};
  if (static_cast<size_t>(status.st_size) != bytes + sizeof(footer)) return std::nullopt;
  if (pread(file.get(), &footer, sizeof(footer), static_cast<off_t>(bytes)) != sizeof(footer))
    return std::nullopt;
  if (footer.magic != kMagic || footer.bytes != bytes) return std::nullopt;
  std::optional<AlignedBuffer> memory = AlignedBuffer::Map(file.get(), bytes);
  if (!memory || Checksum(memory->data(), bytes, pool) != footer.checksum) return std::nullopt;
  return memory;
}

}  // namespace

std::optional<AlignedBuffer> MapPacked(const std::string& path, size_t bytes, ThreadPool* pool) {
  std::optional<AlignedBuffer> memory = MapWhole(path, bytes, pool);
  if (!memory) unlink(path.c_str());
  return memory;
}

PackedWriter::PackedWriter(std::string path, const AlignedBuffer& memory)
    : path_(std::move(path)),
      data_(memory.data()),
      bytes_(memory.size()),
      thread_(&PackedWriter::Work, this) {}

PackedWriter::~PackedWriter() {
  is_hurried_ = true;
  thread_.join();
}

void PackedWriter::Work() {
  const std::string draft = path_ + "." + std::to_string(getpid()) + ".tmp";
  bool is_written = false;
  {
    const Descriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    is_written = file.get() >= 0 && Write(file.get()) && fsync(file.get()) == 0;
  }
  if (is_written && rename(draft.c_str(), path_.c_str()) == 0) {
    SyncFolderOf(path_);
  } else {
    unlink(draft.c_str());
  }
}

bool PackedWriter::Write(int descriptor) {
  std::vector<uint64_t> sums;
  for (size_t first = 0; first < bytes_; first += kChunk) {
    if (is_hurried_ && bytes_ - first > kWorthWaiting) return false;
    const size_t size = std::min(kChunk, bytes_ - first);
    // Hashed and written chunk by chunk, so that memory is read once.
    sums.push_back(HashChunk(data_ + first, size));
    if (!WriteAll(descriptor, data_ + first, size)) return false;
  }
  const Footer footer{kMagic, bytes_, HashSums(std::move(sums))};
  return WriteAll(descriptor, &footer, sizeof(footer));
}

}  // namespace anllm::weights
