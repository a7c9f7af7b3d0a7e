#include "linear_plan.h"

#include <algorithm>

#include "matvec_shape.h"

namespace anllm::metal {

namespace {

// See metal/linear_batch.metal.
constexpr uint32_t kTileRows = 8;
constexpr uint32_t kUnit = 64;
constexpr uint32_t kMaxBatchSimdgroups = 8;
constexpr uint32_t kMaxMembers = 4;
/** Simdgroups of a threadgroup of one row: they find what its norm needs together. */
constexpr uint32_t kLeastSimdgroups = 4;
constexpr uint32_t kMaxSplit = 8;
// See metal/linear_slices.metal.
constexpr uint32_t kSliceColumns = 512;
constexpr uint32_t kMaxSlicers = 16;
/** Weights of so many numbers for each busy simdgroup are read faster by linear_matvec. */
constexpr uint32_t kManyNumbers = 3 * 8192;
/** Simdgroups that have a slice each; with more slices fewer simdgroups take several, whose registers leave
 * room for as many threadgroups. */
constexpr uint32_t kLoneSlicers = 8;
constexpr uint32_t kSlicers = 5;
/** Rounds are unrolled, so that the next one's words are on their way. */
constexpr uint32_t kMaxRounds = 6;
// See metal/linear_parts.metal.
constexpr uint32_t kMaxTiles = 4;
constexpr uint32_t kMaxParts = 16;
/** Normed x costs more, so that more rows of the weight share it. */
constexpr uint32_t kMaxNormedTiles = 6;
/** Simdgroups of a core that hide its memory's latency: what Device::busy_simdgroups counts. */
constexpr uint32_t kSimdgroupsOfCore = 16;

/** Threadgroups whose simdgroups have `rows` rows of the weight each, `members` of them side by side. */
uint32_t GroupsOf(const LinearOperand& op, uint32_t rows, uint32_t members) {
  return DivideUp(op.outputs * (op.is_glu ? 2 : 1), rows * members);
}

}  // namespace

VectorShape PlanVector(const LinearOperand& op, const Device& device) {
  const uint32_t busy_simdgroups = device.busy_simdgroups();
  const auto tiles = [&](uint32_t lane_rows) { return GroupsOf(op, kMatvecSets * lane_rows, 1); };
  // Rows that share x are fewer when there are few of them.
  const uint32_t lane_rows = tiles(4) * 4 < busy_simdgroups ? 2 : 4;
  const uint32_t blocks = DivideUp(op.weight.columns, kMatvecBlock);
  // Few rows: several simdgroups share one and add up, until enough words are on their way; but a second wave
  // of threadgroups costs more.
  uint32_t split = 1;
  while (split < kMaxSplit && 2 * split <= blocks &&
         lane_rows * split * tiles(lane_rows) < 2 * busy_simdgroups &&
         2 * split * tiles(lane_rows) <= busy_simdgroups + busy_simdgroups / 4) {
    split *= 2;
  }
  return {lane_rows, split, split == 1 ? kLeastSimdgroups : kMaxSplit};
}

std::optional<SliceShape> PlanSlices(const LinearOperand& op, const Device& device) {
  // x that is normed costs more, so more rows share it.
  const uint32_t lane_rows = op.x.type == DTYPE_F32 ? 8 : 4;
  const uint32_t slices = DivideUp(op.weight.columns, kSliceColumns);
  const uint32_t rounds = slices <= kLoneSlicers ? 1 : std::min(DivideUp(slices, kSlicers), kMaxRounds);
  const uint32_t simdgroups = DivideUp(slices, rounds);
  const uint64_t numbers = uint64_t{op.outputs} * op.weight.columns;
  if (numbers >= uint64_t{kManyNumbers} * device.busy_simdgroups() || op.outputs < lane_rows ||
      simdgroups > kMaxSlicers) {
    return std::nullopt;
  }
  return SliceShape{lane_rows, simdgroups, rounds};
}

bool HasPlainHalves(const LinearOperand& op) {
  return op.x.type == DTYPE_F16 && op.norm.kind == NORM_NONE;
}

std::optional<PartShape> PlanParts(const LinearOperand& op, const Device& device) {
  const uint32_t cores = std::max(device.busy_simdgroups() / kSimdgroupsOfCore, 1u);
  const uint32_t tiles = DivideUp(op.outputs, kTileRows);
  const uint32_t pairs = op.weight.columns / (2 * kUnit);
  // One threadgroup a core: a second one would only wait for the first.
  if (tiles > (HasPlainHalves(op) ? kMaxTiles : kMaxNormedTiles) * cores) return std::nullopt;
  const uint32_t lane_rows = std::max(DivideUp(tiles, cores), 2u);
  // As few as have no more pairs each than with the most; half of a tile to end with for each.
  const uint32_t rounds = DivideUp(pairs, kMaxParts);
  return PartShape{lane_rows, std::max(DivideUp(pairs, rounds), 2 * lane_rows)};
}

BatchShape PlanBatch(const LinearOperand& op, const Device& device) {
  const uint32_t busy_simdgroups = device.busy_simdgroups();
  BatchShape shape{.lane_rows = 4, .members = 1, .split = 1};
  const auto groups = [&] { return GroupsOf(op, kTileRows * shape.lane_rows, shape.members); };
  // Simdgroups side by side stage x less often, but first there is work for every core, and for every core
  // alike.
  const uint32_t cores = busy_simdgroups / kSimdgroupsOfCore;
  if (groups() < cores / 2) shape.lane_rows = 2;
  if (groups() >= 8 * cores) {
    shape.members = kMaxMembers;
  } else if (groups() >= cores + cores / 3) {
    shape.members = kMaxMembers / 2;
  }
  const uint32_t units = DivideUp(op.weight.columns, kUnit);
  while (2 * shape.Simdgroups() <= kMaxBatchSimdgroups && 4 * shape.split <= units &&
         2 * groups() * shape.Simdgroups() < busy_simdgroups) {
    shape.split *= 2;
  }
  return shape;
}

uint32_t BatchShape::SharedBytes(bool is_half) const {
  const uint32_t sums = Simdgroups() * (kTileRows + (split == 1 ? 0 : lane_rows * kTileRows * kTileRows));
  // Of halves two panels of a unit a simdgroup, of floats one unit of each part; and what their sums need.
  const uint32_t staged = is_half ? 2 * Simdgroups() * (kTileRows * kUnit / 2 + 2 * kTileRows)
                                  : split * kTileRows * kUnit + Simdgroups() * kTileRows;
  return std::max(staged, sums) * sizeof(float);
}

}  // namespace anllm::metal
