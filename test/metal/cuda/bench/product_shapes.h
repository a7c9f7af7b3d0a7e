/** The matrix products of a token in real models, with the inputs and outputs that a program gives them. */
#pragma once

#include "measure.h"

namespace anllm::cuda {

enum class Role {
  /** Of the normed residual stream, to halves. */
  kNormed,
  /** The same, silu of one half times the other. */
  kGlu,
  /** Of halves, added to the residual stream. */
  kResidual,
  /** Of the normed residual stream, to floats. */
  kHead
};

struct ProductShape {
  const char* model;
  const char* what;
  uint32_t outputs;
  uint32_t columns;
  Role role;

  uint32_t rows() const { return outputs * (role == Role::kGlu ? 2 : 1); }
};

constexpr ProductShape kProductShapes[] = {
    {"0.6B", "qkv", 4096, 1024, Role::kNormed},    {"0.6B", "gate/up", 3072, 1024, Role::kGlu},
    {"0.6B", "down", 1024, 3072, Role::kResidual}, {"0.6B", "head", 151936, 1024, Role::kHead},
    {"4B", "qkv", 6144, 2560, Role::kNormed},      {"4B", "o", 2560, 4096, Role::kResidual},
    {"4B", "gate/up", 9728, 2560, Role::kGlu},     {"4B", "down", 2560, 9728, Role::kResidual},
    {"4B", "head", 151936, 2560, Role::kHead},     {"8B", "qkv", 6144, 4096, Role::kNormed},
    {"8B", "o", 4096, 4096, Role::kResidual},      {"8B", "gate/up", 12288, 4096, Role::kGlu},
    {"8B", "down", 4096, 12288, Role::kResidual},  {"30B-A3B", "qkv", 5120, 2048, Role::kNormed},
    {"30B-A3B", "o", 2048, 4096, Role::kResidual},
};

/** Codes, then scales and biases of one matrix: 4 bits in groups of 64, bfloat scales. */
struct Layout {
  size_t codes, scales, bytes;
  double read() const { return static_cast<double>(codes + 2 * scales); }
};
Layout LayoutOf(size_t rows, size_t columns);
metal::Matrix MatrixAt(const std::unique_ptr<metal::Buffer>& pool, size_t offset, uint32_t rows,
                       uint32_t columns);

/** Buffers of a product of `batch` rows, and its operand. */
class Product {
 public:
  Product(Bench& bench, const ProductShape& shape, uint32_t batch);
  size_t copies() const { return copies_; }
  double bytes() const { return layout_.read(); }
  /** With the weight's copy number i. */
  metal::LinearOperand At(size_t i) const;

 private:
  Bench& bench_;
  ProductShape shape_;
  uint32_t batch_;
  Layout layout_;
  size_t copies_;
  std::unique_ptr<metal::Buffer> x_, norm_, residual_, out_;
};

}  // namespace anllm::cuda
