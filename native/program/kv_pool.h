/** The keys and values of all layers of one executable. */
#pragma once

#include "../aligned_buffer.h"
#include "block_memory.h"
#include "program.h"

namespace anllm::program {

class KvPool {
 public:
  /** Zeroed; a block has a place in every layer. Throws Error out_of_memory. */
  KvPool(const std::vector<KvLayerSpec>& specs, int64_t blocks, KvFormat format);

  const std::vector<KvLayer>& layers() const { return layers_; }
  /** The pool in blocks; outlived by the pool. */
  BlockMemory blocks() const;

 private:
  std::vector<KvLayer> layers_;
  const int64_t blocks_;
  AlignedBuffer memory_;
};

}  // namespace anllm::program
