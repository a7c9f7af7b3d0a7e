/** The weights of a program in memory. */
#pragma once

#include <memory>

#include "../aligned_buffer.h"
#include "../program/program.h"
#include "../thread_pool.h"
#include "file.h"
#include "packed_file.h"

namespace anllm::weights {

/** Parallel to the program's weights: a matrix has `matrices[i]`, a vector `vectors[i]`. */
struct LoadedWeights {
  std::vector<Matrix> matrices;
  std::vector<std::vector<float>> vectors;
  AlignedBuffer memory;                  // of all matrices, in the order of the program
  std::unique_ptr<PackedWriter> writer;  // of the memory; null when nothing is to be written
};

/** What packing may make of quantized weights. */
enum class Packing {
  kExact,
  kFast,    // they need only be as exact as int8 activations are
  kFloats,  // float32 values
};

/**
 * Reads and packs all weights on all threads, or maps what an earlier call has packed to `packed_file`
 * (empty: none), which the caller names by everything that counts; the file is written while the model is
 * used. Throws Error bad_model, unsupported or out_of_memory; a cache that cannot be used is no error.
 */
LoadedWeights Load(const std::vector<program::WeightSpec>& specs, const std::vector<WeightSource>& sources,
                   ThreadPool* pool, Packing packing, const std::string& packed_file);

/** A vector in float32. Throws Error bad_model or unsupported. */
std::vector<float> LoadVector(const WeightSource& source, const program::WeightSpec& spec, Files* files);

/** Bytes of the whole packed matrix. */
int64_t PackedBytes(const Matrix& matrix);

}  // namespace anllm::weights
