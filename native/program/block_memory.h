/** Where an executable keeps blocks of keys and values, and what is done to whole blocks between steps. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.h"

namespace anllm::program {

/** Block b of the keys, or of the values, of one layer: `bytes` from `base + b * bytes`. */
struct BlockPart {
  uint8_t* base;
  size_t bytes;
};

/** Every block has a place in all parts. */
class BlockMemory {
 public:
  BlockMemory(std::vector<BlockPart> parts, int64_t blocks) : parts_(std::move(parts)), blocks_(blocks) {}

  /** Bytes of one block in all parts. */
  size_t block_bytes() const;
  /** Copies blocks: `pairs` has source and destination by turns. Throws Error bad_request. */
  void Copy(const Ints& pairs) const;
  /** to [blocks.size][block_bytes] = the blocks, of each its parts in order. Throws Error bad_request. */
  void Read(const Ints& blocks, uint8_t* to) const;
  /** The opposite; `bytes` of `from` are to be just as many. Throws Error bad_request. */
  void Write(const Ints& blocks, const uint8_t* from, size_t bytes) const;

 private:
  void Check(const char* place, const Ints& blocks) const;

  std::vector<BlockPart> parts_;
  int64_t blocks_;
};

}  // namespace anllm::program
