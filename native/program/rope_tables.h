/** The angles of rotary embeddings, computed once a step for all layers that share them. */
#pragma once

#include <deque>

#include "../thread_pool.h"
#include "program.h"

namespace anllm::program {

class RopeTables {
 public:
  /** The table for a spec; equal specs share one. Its address stays valid. */
  const RopeTable* Add(const RopeSpec& spec);
  int64_t Bytes(int64_t max_tokens) const;
  /** Puts the tables into memory of `Bytes`. */
  void Place(uint8_t* memory, int64_t max_tokens);
  /**
   * Fills the tables with the angles of positions [count]. Angles are formed in float64: positions may be
   * large.
   */
  void Fill(const int32_t* positions, int64_t count, ThreadPool* pool);

 private:
  struct Entry {
    RopeSpec spec;
    RopeTable table;
    float* cos;  // of the table, writable
    float* sin;
  };
  std::deque<Entry> entries_;
};

}  // namespace anllm::program
