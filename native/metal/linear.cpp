#include <algorithm>

#include "linear_plan.h"
#include "matvec_shape.h"

namespace anllm::metal {

namespace {

// Tiles of the kernels; see metal/linear_*.metal.
constexpr uint32_t kBatchRows = 8;
constexpr uint32_t kTileM = 32;
constexpr uint32_t kTileN = 64;
constexpr uint32_t kTileK = 64;

/** Of a simdgroup in metal/linear_parts.metal: PART_SLOTS uint4, and sums of a tile and squares. */
constexpr uint32_t kPartBytes = 68 * 16;
constexpr uint32_t kPartSumBytes = 64 * 4;
constexpr uint32_t kPartSquareBytes = kBatchRows * 4;

/** From here on tiles beat a second pass over the weights. */
constexpr uint32_t kMatmulRows = 2 * kBatchRows + 1;
/** Threadgroups of a matrix product that keep the largest GPU busy. */
constexpr uint32_t kManyTiles = 256;
constexpr uint32_t kMaxParts = 16;

uint32_t TileOutputs(const LinearOperand& op, uint32_t tile) {
  return op.is_glu ? tile / 2 : tile;
}

bool UsesTiles(const LinearOperand& op) {
  return op.rows >= kMatmulRows;
}

/** A matrix product takes x as it is; so do a few rows with a layer norm, whose mean is wanted before the
 * sums. */
bool NeedsSeparateNorm(const LinearOperand& op) {
  return op.norm.kind != NORM_NONE && (UsesTiles(op) || (op.rows > 1 && op.norm.kind == NORM_LAYER));
}

/** One row joins while it is read; more would do it once a tile of outputs. */
bool NeedsSeparateJoin(const LinearOperand& op) {
  return op.join.norm.kind != NORM_NONE &&
         (op.rows > 1 || op.join.norm.kind != NORM_RMS || op.norm.kind == NORM_LAYER);
}

/** Columns of each part of the sums of a matrix product, so that few tiles still fill the GPU. */
uint32_t PartColumns(const LinearOperand& op) {
  const uint32_t tiles = DivideUp(op.outputs, TileOutputs(op, kTileN)) * DivideUp(op.rows, kTileM);
  const uint32_t blocks = DivideUp(op.weight.columns, kTileK);
  // Each part has a few blocks, or its sums cost more than they save.
  const uint32_t parts = std::clamp(kManyTiles / tiles, 1u, std::clamp(blocks / 4, 1u, kMaxParts));
  return DivideUp(blocks, parts) * kTileK;
}

void Tiles(Dispatcher& dispatcher, const LinearOperand& op, const Scratch& scratch) {
  Constants constants = LinearConstants(op);
  LinearParams params = LinearParamsOf(op);
  params.part_columns = PartColumns(op);
  const uint32_t parts = DivideUp(op.weight.columns, params.part_columns);
  const Extent grid{DivideUp(op.outputs, TileOutputs(op, kTileN)), DivideUp(op.rows, kTileM), parts};
  // Half tiles lose digits of weights that are stored as floats.
  const bool is_half = op.x.type == DTYPE_F16;
  dispatcher.Run({is_half ? "linear_matmul_f16" : "linear_matmul_f32", constants, grid, 4 * kSimdWidth},
                 {op.x.view, op.weight.data, op.weight.scales, op.weight.biases, op.bias, op.residual,
                  op.out.view, scratch.parts},
                 params);
  if (parts == 1) return;
  dispatcher.Barrier();
  dispatcher.Run(
      {"linear_sum", constants, {DivideUp(op.outputs, ELEMENT_THREADS), op.rows, 1}, ELEMENT_THREADS},
      {scratch.parts, op.bias, op.residual, op.out.view}, params);
}

}  // namespace

Constants LinearConstants(const LinearOperand& op) {
  Constants constants{.x_type = op.x.type,
                      .out_type = op.out.type,
                      .norm = op.norm.kind,
                      .has_norm_weight = op.norm.weight.buffer != nullptr,
                      .has_norm_bias = op.norm.bias.buffer != nullptr,
                      .has_bias = op.bias.buffer != nullptr,
                      .has_residual = op.residual.buffer != nullptr,
                      .is_glu = op.is_glu,
                      .activation = op.activation,
                      .has_join = op.join.norm.kind != NORM_NONE,
                      .has_join_weight = op.join.norm.weight.buffer != nullptr};
  Describe(op.weight, constants);
  constants.is_half = (op.is_fast ? HasHalves(op.weight) : MultipliesHalves(op.weight, op.x, op.out)) &&
                      op.norm.kind != NORM_LAYER && op.join.norm.kind == NORM_NONE;
  return constants;
}

LinearParams LinearParamsOf(const LinearOperand& op) {
  return {.rows = op.rows,
          .columns = op.weight.columns,
          .outputs = op.outputs,
          .x_stride = StrideOf(op.x, op.weight.columns),
          .x_column = op.x.column,
          .out_stride = StrideOf(op.out, op.outputs),
          .out_column = op.out.column,
          .gate_step = op.gate_step,
          .up_offset = op.up_offset,
          .part_columns = op.weight.columns,
          .eps = op.norm.eps,
          .offset = op.norm.offset,
          .join_eps = op.join.norm.eps,
          .join_offset = op.join.norm.offset,
          .factor = op.factor};
}

void LinearVector(Dispatcher& dispatcher, const LinearOperand& op, const VectorShape& shape) {
  Constants constants = LinearConstants(op);
  constants.lane_rows = shape.lane_rows;
  constants.split = shape.split;
  constants.simdgroups = shape.simdgroups;
  const uint32_t outputs = TileOutputs(op, kMatvecSets * shape.lane_rows) * (shape.simdgroups / shape.split);
  dispatcher.Run({"linear_matvec",
                  constants,
                  {DivideUp(op.outputs, outputs), op.rows, 1},
                  shape.simdgroups * kSimdWidth,
                  shape.simdgroups * kMatvecStagedBytes},
                 {op.x.view, op.weight.data, op.weight.scales, op.weight.biases, op.norm.weight, op.norm.bias,
                  op.join.norm.weight, op.join.residual, op.join.sum, op.bias, op.residual, op.out.view},
                 LinearParamsOf(op));
}

/** Whether rows of x begin at multiples of 16 bytes. */
bool IsAligned(const LinearOperand& op) {
  const uint32_t alignment = op.x.type == DTYPE_F16 ? 8 : 4;
  return StrideOf(op.x, op.weight.columns) % alignment == 0 && op.x.column % alignment == 0;
}
/** What linear_slices takes. */
bool HasSlices(const LinearOperand& op) {
  return LinearConstants(op).is_half != 0 && !op.is_glu && op.norm.bias.buffer == nullptr && IsAligned(op);
}
/** What linear_halves needs beyond halves: pairs of units. */
bool HasPanels(const LinearOperand& op) {
  return op.weight.columns % 128 == 0 && IsAligned(op);
}

/** What linear_parts and linear_parts_normed take. */
bool HasParts(const LinearOperand& op) {
  return LinearConstants(op).is_half != 0 && HasPanels(op) && !op.is_glu;
}

void LinearSlices(Dispatcher& dispatcher, const LinearOperand& op, const SliceShape& shape) {
  Constants constants = LinearConstants(op);
  constants.lane_rows = shape.lane_rows;
  constants.split = shape.rounds;
  constants.simdgroups = shape.simdgroups;
  dispatcher.Run({"linear_slices",
                  constants,
                  {DivideUp(op.outputs, kSliceSets * shape.lane_rows), op.rows, 1},
                  shape.simdgroups * kSimdWidth,
                  shape.simdgroups * kSliceStagedBytes},
                 {op.x.view, op.weight.data, op.weight.scales, op.weight.biases, op.norm.weight, op.bias,
                  op.residual, op.out.view},
                 LinearParamsOf(op));
}

void LinearBatch(Dispatcher& dispatcher, const LinearOperand& op, const BatchShape& shape) {
  Constants constants = LinearConstants(op);
  constants.is_half = constants.is_half && HasPanels(op);
  constants.lane_rows = shape.lane_rows;
  constants.split = shape.split;
  constants.simdgroups = shape.Simdgroups();
  const uint32_t outputs = TileOutputs(op, kBatchRows * shape.lane_rows) * shape.members;
  dispatcher.Run({constants.is_half ? "linear_halves" : "linear_batch",
                  constants,
                  {DivideUp(op.outputs, outputs), DivideUp(op.rows, kBatchRows), 1},
                  shape.Simdgroups() * kSimdWidth,
                  shape.SharedBytes(constants.is_half)},
                 {op.x.view, op.weight.data, op.weight.scales, op.weight.biases, op.norm.weight, op.bias,
                  op.residual, op.out.view},
                 LinearParamsOf(op));
}

void LinearParts(Dispatcher& dispatcher, const LinearOperand& op, const PartShape& shape) {
  Constants constants = LinearConstants(op);
  constants.lane_rows = shape.lane_rows;
  constants.simdgroups = shape.simdgroups;
  const uint32_t part_bytes = std::max(kPartBytes, shape.lane_rows * kPartSumBytes + kPartSquareBytes);
  const Launch launch{HasPlainHalves(op) ? "linear_parts" : "linear_parts_normed",
                      constants,
                      {DivideUp(op.outputs, kBatchRows * shape.lane_rows), DivideUp(op.rows, kBatchRows), 1},
                      shape.simdgroups * kSimdWidth,
                      shape.simdgroups * part_bytes};
  const LinearParams params = LinearParamsOf(op);
  const Matrix& weight = op.weight;
  if (HasPlainHalves(op)) {
    dispatcher.Run(launch,
                   {op.x.view, weight.data, weight.scales, weight.biases, op.bias, op.residual, op.out.view},
                   params);
  } else {
    dispatcher.Run(launch,
                   {op.x.view, weight.data, weight.scales, weight.biases, op.norm.weight, op.bias,
                    op.residual, op.out.view},
                   params);
  }
}

ScratchBytes LinearScratchOf(const LinearOperand& op) {
  ScratchBytes bytes;
  if (NeedsSeparateNorm(op)) bytes.normalized = size_t{op.rows} * op.weight.columns * sizeof(float);
  if (UsesTiles(op)) {
    const size_t parts = DivideUp(op.weight.columns, PartColumns(op));
    const size_t slots = size_t{DivideUp(op.outputs, TileOutputs(op, kTileN))} * kTileN;
    if (parts > 1) bytes.parts = parts * op.rows * slots * sizeof(float);
  }
  return bytes;
}

void Linear(Dispatcher& dispatcher, const LinearOperand& op, const Scratch& scratch) {
  LinearOperand plain = op;
  const uint32_t columns = op.weight.columns;
  if (NeedsSeparateJoin(op)) {
    plain.x = {op.join.sum, DTYPE_F32};
    Normalize(dispatcher, op.rows, columns, 1, op.x, op.join.norm, plain.x, {.residual = op.join.residual});
    dispatcher.Barrier();
    plain.join = {};
  }
  if (NeedsSeparateNorm(op)) {
    const Values x = plain.x;
    // An f16 output tells that this model runs in half precision: then the normalised rows are halves too.
    plain.x = {scratch.normalized, op.out.type == DTYPE_F16 ? DTYPE_F16 : x.type};
    Normalize(dispatcher, op.rows, columns, 1, x, op.norm, plain.x);
    dispatcher.Barrier();
    plain.norm = {};
  }
  const Device& device = dispatcher.device();
  if (UsesTiles(plain)) return Tiles(dispatcher, plain, scratch);
  if (plain.rows > 1) {
    const auto parts = HasParts(plain) ? PlanParts(plain, device) : std::nullopt;
    if (parts) return LinearParts(dispatcher, plain, *parts);
    return LinearBatch(dispatcher, plain, PlanBatch(plain, device));
  }
  const auto slices = HasSlices(plain) ? PlanSlices(plain, device) : std::nullopt;
  if (slices) return LinearSlices(dispatcher, plain, *slices);
  LinearVector(dispatcher, plain, PlanVector(plain, device));
}

}  // namespace anllm::metal
