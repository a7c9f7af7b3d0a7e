#include "block_memory.h"

#include <cstring>
#include <string>

#include "../error.h"

namespace anllm::program {
namespace {

uint8_t* At(const BlockPart& part, int32_t block) {
  return part.base + static_cast<size_t>(block) * part.bytes;
}

}  // namespace

size_t BlockMemory::block_bytes() const {
  size_t bytes = 0;
  for (const BlockPart& part : parts_) bytes += part.bytes;
  return bytes;
}

void BlockMemory::Copy(const Ints& pairs) const {
  if (pairs.size % 2 != 0) throw BadRequest("[copy_blocks] got an odd number of blocks, expected pairs");
  Check("[copy_blocks]", pairs);
  for (int64_t i = 0; i < pairs.size; i += 2) {
    const int32_t from = pairs.data[i];
    const int32_t to = pairs.data[i + 1];
    if (from == to) continue;
    for (const BlockPart& part : parts_) std::memcpy(At(part, to), At(part, from), part.bytes);
  }
}

void BlockMemory::Read(const Ints& blocks, uint8_t* to) const {
  Check("[read_blocks]", blocks);
  for (int64_t i = 0; i < blocks.size; i++) {
    for (const BlockPart& part : parts_) {
      std::memcpy(to, At(part, blocks.data[i]), part.bytes);
      to += part.bytes;
    }
  }
}

void BlockMemory::Write(const Ints& blocks, const uint8_t* from, size_t bytes) const {
  Check("[write_blocks]", blocks);
  const size_t expected = static_cast<size_t>(blocks.size) * block_bytes();
  if (bytes != expected) {
    throw BadRequest("[write_blocks] bytes: got " + std::to_string(bytes) + ", expected " +
                     std::to_string(expected) + " for " + std::to_string(blocks.size) + " blocks");
  }
  for (int64_t i = 0; i < blocks.size; i++) {
    for (const BlockPart& part : parts_) {
      std::memcpy(At(part, blocks.data[i]), from, part.bytes);
      from += part.bytes;
    }
  }
}

void BlockMemory::Check(const char* place, const Ints& blocks) const {
  for (int64_t i = 0; i < blocks.size; i++) {
    if (blocks.data[i] >= 0 && blocks.data[i] < blocks_) continue;
    throw BadRequest(std::string(place) + " block: got " + std::to_string(blocks.data[i]) +
                     ", expected 0 to " + std::to_string(blocks_ - 1));
  }
}

}  // namespace anllm::program
