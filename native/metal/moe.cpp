#include <algorithm>

#include "../error.h"
#include "matvec_shape.h"
#include "ops.h"

namespace anllm::metal {
namespace {

/** MAX_EXPERTS of metal/moe_route.metal; a choice lies in one lane, and so does a group. */
constexpr uint32_t kMaxExperts = 512;
constexpr uint32_t kMaxChoices = kSimdWidth;
/** Rows of the weight that a lane sums: few, since one threadgroup has few rows to share. */
constexpr uint32_t kRouteLaneRows = 2;
constexpr uint32_t kExpertLaneRows = 4;
constexpr uint32_t kRouteSimdgroups = 16;
constexpr uint32_t kExpandSimdgroups = 4;
constexpr uint32_t kMaxReduceSimdgroups = 8;
/** Tiles of metal/tiles.h. */
constexpr uint32_t kTileM = 32;
constexpr uint32_t kTileN = 64;
constexpr uint32_t kSortedRows = 9;

Constants ExpertConstants(const ExpertsOperand& op) {
  Constants constants{.x_type = op.x.type,
                      .out_type = op.out.type,
                      .norm = op.norm.kind,
                      .has_norm_weight = op.norm.weight.buffer != nullptr,
                      .has_norm_bias = op.norm.bias.buffer != nullptr,
                      .has_bias = op.bias.buffer != nullptr,
                      .has_residual = op.residual.buffer != nullptr,
                      .is_glu = op.is_glu,
                      .activation = op.activation,
                      .has_shared = op.shared.buffer != nullptr,
                      .lane_rows = kExpertLaneRows};
  Describe(op.weight, constants);
  constants.is_half = MultipliesHalves(op.weight, op.x, op.out) && op.norm.kind != NORM_LAYER;
  return constants;
}

ExpertsParams ParamsOf(const ExpertsOperand& op) {
  return {.columns = op.weight.columns,
          .expert_rows = op.expert_rows,
          .top_k = op.top_k,
          .x_stride = StrideOf(op.x, op.weight.columns),
          .out_stride = StrideOf(op.out, op.expert_rows),
          .up_offset = op.up_offset,
          .eps = op.norm.eps,
          .offset = op.norm.offset};
}

}  // namespace

void MoeRoute(Dispatcher& dispatcher, const MoeRouteOperand& op) {
  if (op.experts > kMaxExperts || op.top_k > kMaxChoices || op.groups > kSimdWidth) {
    throw Unsupported("[moe_route] " + std::to_string(op.top_k) + " of " + std::to_string(op.experts) +
                      " experts in " + std::to_string(op.groups) + " groups: expected at most " +
                      std::to_string(kMaxChoices) + " of " + std::to_string(kMaxExperts) + " in " +
                      std::to_string(kSimdWidth));
  }
  Constants constants{.x_type = op.x.type,
                      .norm = op.norm.kind,
                      .has_norm_weight = op.norm.weight.buffer != nullptr,
                      .has_norm_bias = op.norm.bias.buffer != nullptr,
                      .has_bias = op.bias.buffer != nullptr,
                      .simdgroups = kRouteSimdgroups,
                      .has_shared = op.has_shared_gate,
                      .scores = op.scores,
                      .has_correction = op.correction.buffer != nullptr,
                      .group_rank = op.group_rank,
                      .is_normalized = op.is_normalized,
                      .lane_rows = kRouteLaneRows};
  Describe(op.router, constants);
  const MoeRouteParams params{.columns = op.router.columns,
                              .x_stride = StrideOf(op.x, op.router.columns),
                              .x_column = op.x.column,
                              .experts = op.experts,
                              .top_k = op.top_k,
                              .groups = op.groups,
                              .kept_groups = op.kept_groups,
                              .factor = op.factor,
                              .eps = op.norm.eps,
                              .offset = op.norm.offset};
  dispatcher.Run({"moe_route", constants, {1, op.rows, 1}, kRouteSimdgroups * kSimdWidth},
                 {op.x.view, op.router.data, op.router.scales, op.router.biases, op.norm.weight, op.norm.bias,
                  op.bias, op.correction, op.out},
                 params);
}

namespace {

/** Whether pairs are sorted: from here on an expert has several rows, most of the time. */
bool IsSorted(const ExpertsOperand& op) {
  return op.rows >= kSortedRows && op.rows * op.top_k >= 2 * op.experts && op.experts <= kMaxExperts;
}

uint32_t MaxTiles(const ExpertsOperand& op) {
  const uint32_t pairs = op.rows * op.top_k;
  return pairs / kTileM + std::min(op.experts, pairs);
}

/** Where the sorted pairs and their tiles lie in scratch.parts, 16-byte aligned. */
struct SortMemory {
  BufferView order;
  BufferView tiles;
};

size_t OrderBytes(const ExpertsOperand& op) {
  return (size_t{op.rows} * op.top_k * sizeof(int32_t) + 15) / 16 * 16;
}

SortMemory MemoryOf(const ExpertsOperand& op, const BufferView& parts) {
  const size_t order = OrderBytes(op);
  const size_t tiles = size_t{MaxTiles(op)} * TILE_WORDS * sizeof(int32_t);
  return {{parts.buffer, parts.offset, order}, {parts.buffer, parts.offset + order, tiles}};
}

/** Sorts, then multiplies x; `out` holds the slots, or with is_reduce the products. */
void MultiplySorted(Dispatcher& dispatcher, const ExpertsOperand& op, const BufferView& parts,
                    const BufferView& out) {
  const SortMemory memory = MemoryOf(op, parts);
  ExpertsParams params = ParamsOf(op);
  params.rows = op.rows;
  params.max_tiles = MaxTiles(op);
  dispatcher.Run({"moe_sort", {}, {1, 1, 1}, kMaxExperts}, {op.route, memory.order, memory.tiles}, params);
  dispatcher.Barrier();
  Constants constants = ExpertConstants(op);
  constants.is_reduce = op.is_reduce;
  const uint32_t outputs = op.is_glu ? kTileN / 2 : kTileN;
  const char* kernel = op.x.type == DTYPE_F16 ? "moe_matmul_f16" : "moe_matmul_f32";
  dispatcher.Run(
      {kernel, constants, {DivideUp(op.expert_rows, outputs), params.max_tiles, 1}, 4 * kSimdWidth},
      {op.x.view, op.route, memory.order, memory.tiles, op.weight.data, op.weight.scales, op.weight.biases,
       op.bias, out},
      params);
}

}  // namespace

ScratchBytes ExpertsScratchOf(const ExpertsOperand& op) {
  if (!IsSorted(op)) return {};
  ScratchBytes bytes;
  bytes.parts = OrderBytes(op) + size_t{MaxTiles(op)} * TILE_WORDS * sizeof(int32_t);
  if (op.norm.kind != NORM_NONE) bytes.normalized = size_t{op.rows} * op.weight.columns * sizeof(float);
  if (op.is_reduce) bytes.products = size_t{op.rows} * op.top_k * op.expert_rows * sizeof(float);
  return bytes;
}

void MoeExpand(Dispatcher& dispatcher, const ExpertsOperand& op, const Scratch& scratch) {
  if (IsSorted(op)) {
    ExpertsOperand plain = op;
    if (op.norm.kind != NORM_NONE) {
      plain.x = {scratch.normalized, op.out.type};
      plain.norm = {};
      Normalize(dispatcher, op.rows, op.weight.columns, 1, op.x, op.norm, plain.x);
      dispatcher.Barrier();
    }
    MultiplySorted(dispatcher, plain, scratch.parts, op.out.view);
    return;
  }
  Constants constants = ExpertConstants(op);
  constants.simdgroups = kExpandSimdgroups;
  const uint32_t tile = kMatvecSets * kExpertLaneRows;
  const uint32_t outputs = (op.is_glu ? tile / 2 : tile) * kExpandSimdgroups;
  dispatcher.Run({"moe_expand",
                  constants,
                  {DivideUp(op.expert_rows, outputs), op.top_k, op.rows},
                  kExpandSimdgroups * kSimdWidth},
                 {op.x.view, op.route, op.weight.data, op.weight.scales, op.weight.biases, op.norm.weight,
                  op.norm.bias, op.bias, op.out.view},
                 ParamsOf(op));
}

void MoeReduce(Dispatcher& dispatcher, const ExpertsOperand& op, const Scratch& scratch) {
  Constants constants = ExpertConstants(op);
  if (IsSorted(op)) {
    MultiplySorted(dispatcher, op, scratch.parts, scratch.products);
    dispatcher.Barrier();
    dispatcher.Run(
        {"moe_sum", constants, {DivideUp(op.expert_rows, ELEMENT_THREADS), op.rows, 1}, ELEMENT_THREADS},
        {scratch.products, op.route, op.shared, op.residual, op.out.view}, ParamsOf(op));
    return;
  }
  constants.simdgroups = std::min(op.top_k, kMaxReduceSimdgroups);
  dispatcher.Run({"moe_reduce",
                  constants,
                  {DivideUp(op.expert_rows, kMatvecSets * kExpertLaneRows), op.rows, 1},
                  constants.simdgroups * kSimdWidth},
                 {op.x.view, op.route, op.weight.data, op.weight.scales, op.weight.biases, op.bias, op.shared,
                  op.residual, op.out.view},
                 ParamsOf(op));
}

}  // namespace anllm::metal
