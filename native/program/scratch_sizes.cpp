#include "scratch_sizes.h"

#include <algorithm>

#include "../kernels/scratch.h"

namespace anllm::program {
namespace {

bool NeedsFloats(const Matrix& weight, int planes) {
  return planes == 0 || weight.coding == Coding::kFloats;
}

/** Rows quantized in all forms that the weights need; there is room for all planes, whose number may change.
 */
int64_t FormsBytes(int64_t rows, int64_t cols, int planes, const std::vector<const Matrix*>& weights) {
  int64_t bytes = 0;
  for (int64_t size : kGroupSizes) {
    const auto has_size = [&](const Matrix* w) { return !NeedsFloats(*w, planes) && w->group_size == size; };
    if (std::any_of(weights.begin(), weights.end(), has_size)) bytes += QuantizedBytes(rows, cols, size);
  }
  return bytes == 0 ? 0 : kMaxPlanes * bytes + kPlaneBytes;
}

int64_t PreparedBytes(const MatmulInput& input, int64_t rows, int64_t cols, int planes,
                      const std::vector<const Matrix*>& weights) {
  return (input.norm != nullptr ? NormedBytes(rows, cols) : 0) + FormsBytes(rows, cols, planes, weights);
}

void AddMatrices(const ExpertWeights& experts, int64_t count, std::vector<const Matrix*>* weights) {
  for (int64_t i = 0; i < count / experts.experts_per_matrix; i++) weights->push_back(&experts.matrices[i]);
}

/** The rows of all slots in the order of their experts. */
int64_t GatheredBytes(int64_t entries, int planes, const std::vector<const Matrix*>& weights) {
  const int64_t cols = weights[0]->cols;
  const auto needs_floats = [&](const Matrix* w) { return NeedsFloats(*w, planes); };
  const bool has_floats = std::any_of(weights.begin(), weights.end(), needs_floats);
  return (has_floats ? NormedBytes(entries, cols) : 0) + FormsBytes(entries, cols, planes, weights);
}

int64_t MaxRows(Rows rows, const Limits& limits) {
  return rows == Rows::kTokens ? limits.max_tokens : limits.max_logit_rows;
}

struct SharedBytes {
  const Limits& limits;

  template <class Other>
  int64_t operator()(const Other&) const {
    return 0;
  }
  int64_t operator()(const LinearOp& op) const {
    std::vector<const Matrix*> weights;
    for (int64_t i = 0; i < op.num_parts; i++) weights.push_back(&op.parts[i].weight);
    return PreparedBytes(op.input, MaxRows(op.rows, limits), weights[0]->cols, op.planes, weights);
  }
  int64_t operator()(const GluOp& op) const {
    return PreparedBytes(op.input, MaxRows(op.rows, limits), op.gate.cols, op.planes, {&op.gate, &op.up});
  }
  int64_t operator()(const AttentionOp&) const { return kMaxPartialBytes; }
  int64_t operator()(const GatedDeltaOp& op) const {
    return limits.max_tokens * GatedDeltaRowBytes(op.state);
  }
  int64_t operator()(const MoeRouteOp& op) const {
    return PreparedBytes(op.input, limits.max_tokens, op.router.cols, 0, {}) +
           Align64(limits.max_tokens * (op.routing.experts + 1) * 4);
  }
  int64_t operator()(const MoeLinearOp& op) const {
    const Matrix& shared = op.weights.shared;
    const bool has_shared = shared.rows > 0;
    std::vector<const Matrix*> weights;
    AddMatrices(op.weights, op.experts, &weights);
    int64_t bytes = AssignmentBytes(limits.max_tokens, op.top_k, op.experts) +
                    GatheredBytes(limits.max_tokens * op.top_k, op.planes, weights);
    if (has_shared) bytes += FormsBytes(limits.max_tokens, shared.cols, op.planes, {&shared});
    if (op.reduce) bytes += limits.max_tokens * (op.top_k + (has_shared ? 1 : 0)) * op.out_cols * 4;
    return bytes;
  }
  int64_t operator()(const MoeGluOp& op) const {
    std::vector<const Matrix*> weights;
    AddMatrices(op.gate, op.experts, &weights);
    AddMatrices(op.up, op.experts, &weights);
    std::vector<const Matrix*> shared;
    if (op.gate.shared.rows > 0) shared = {&op.gate.shared, &op.up.shared};
    return AssignmentBytes(limits.max_tokens, op.top_k, op.experts) +
           PreparedBytes(op.input, limits.max_tokens, weights[0]->cols, op.planes, shared) +
           GatheredBytes(limits.max_tokens * op.top_k, op.planes, weights);
  }
};

}  // namespace

int64_t ScratchBytes(const BoundOp& op, const Limits& limits) {
  return std::visit(SharedBytes{limits}, op);
}

int64_t ThreadScratchBytes(const BoundOp& op) {
  if (const auto* attention = std::get_if<AttentionOp>(&op)) {
    return AttentionThreadBytes(attention->kv.key_dim, attention->kv.value_stride);
  }
  if (const auto* prepare = std::get_if<AttentionPrepareOp>(&op)) {
    return Align64(prepare->kv.kv_heads * prepare->head_dim * 4);
  }
  if (const auto* prepare = std::get_if<LatentPrepareOp>(&op)) return Align64(prepare->kv.key_dim * 4);
  if (const auto* write = std::get_if<KvWriteOp>(&op)) return Align64(write->kv.key_dim * 4);
  if (const auto* route = std::get_if<MoeRouteOp>(&op)) return Align64(3 * route->routing.experts * 4);
  return 0;
}

}  // namespace anllm::program
