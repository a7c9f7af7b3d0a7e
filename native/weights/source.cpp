#include "source.h"

#include "../error.h"

namespace anllm::weights {
namespace {

std::string Text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

}  // namespace

int64_t BytesOf(ElementType type) {
  if (type == ElementType::kU8) return 1;
  return type == ElementType::kF16 || type == ElementType::kBf16 ? 2 : 4;
}

Float ScalarOf(const StoredTensor& tensor) {
  switch (tensor.type) {
    case ElementType::kF32:
      return Float::kF32;
    case ElementType::kF16:
      return Float::kF16;
    case ElementType::kBf16:
      return Float::kBf16;
    case ElementType::kU32:
    case ElementType::kU8:
      break;
  }
  throw Unsupported(tensor.file + ": " + tensor.name + ": got codes, expected F32, F16 or BF16");
}

void CheckTensor(const StoredTensor& tensor, int64_t rows, int64_t cols) {
  const std::vector<int64_t> matrix = {rows, cols};
  const bool is_vector = rows == 1 && tensor.shape == std::vector<int64_t>{cols};
  if (!is_vector && tensor.shape != matrix) {
    throw BadModel(tensor.file + ": " + tensor.name + ": got " + Text(tensor.shape) + ", expected " +
                   Text(matrix));
  }
  const int64_t bytes = rows * cols * BytesOf(tensor.type);
  const auto held = static_cast<int64_t>(tensor.bytes.size());
  for (int64_t got : {tensor.byte_length, held == 0 ? bytes : held}) {
    if (got == bytes) continue;
    throw BadModel(tensor.file + ": " + tensor.name + ": got " + std::to_string(got) + " bytes, expected " +
                   std::to_string(bytes));
  }
}

}  // namespace anllm::weights
