/** Where the bytes of a weight lie and how they are coded: extension/engine/loading/weights.ts in C++. */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../kernels/matrix.h"

namespace anllm::weights {

/** U32 holds packed codes, U8 scales or blocks. */
enum class ElementType { kF32, kF16, kBf16, kU32, kU8 };

struct StoredTensor {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape;
  std::string file;
  int64_t offset;
  int64_t byte_length;
  /** The tensor itself, when it does not lie in one piece in the file. */
  std::vector<uint8_t> bytes;
  /** It would have to come as bytes, and is left out where packed weights are expected. */
  bool is_absent = false;
};

enum class SourceKind { kDense, kAffine, kMicroscaled, kGguf };

/** A weight as extension/engine/loading/weights.ts describes it. */
struct WeightSource {
  SourceKind kind;
  /** The values, the packed codes, or the blocks. */
  StoredTensor tensor;
  /** kMicroscaled: the mode; kGguf: the type of the blocks. */
  std::string format;
  int64_t bits;
  int64_t group_size;
  StoredTensor scales;
  StoredTensor biases;
};

int64_t BytesOf(ElementType type);
/** The scalar type of a float tensor; throws Error unsupported for others. */
Float ScalarOf(const StoredTensor& tensor);
/** Throws Error bad_model when shape or length of the tensor are not those of [rows, cols]. */
void CheckTensor(const StoredTensor& tensor, int64_t rows, int64_t cols);

}  // namespace anllm::weights
