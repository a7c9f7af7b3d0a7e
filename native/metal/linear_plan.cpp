#include "linear_plan.h"

#include <algorithm>

#include "matvec_shape.h"

namespace anllm::metal {

namespace {

// See metal/linear_batch.metal.
constexpr uint32_t kTileRows = 8;
constexpr uint32_t kUnit = 64;
constexpr uint32_t kMaxUnits = 2;
constexpr uint32_t kMaxBatchSimdgroups = 8;
constexpr uint32_t kMaxMembers = 4;
/** Simdgroups of a threadgroup of one row: they find what its norm needs together. */
constexpr uint32_t kLeastSimdgroups = 4;
constexpr uint32_t kMaxSplit = 8;
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
  // Rows that share x are fewer when there are few of them, and more when there are plenty.
  const uint32_t lane_rows = tiles(4) * kMaxSplit < busy_simdgroups ? 2
                             : tiles(8) >= 2 * busy_simdgroups      ? std::min(device.most_lane_rows(), 8u)
                                                                    : 4;
  const uint32_t blocks = DivideUp(op.weight.columns, kMatvecBlock);
  // Few rows: several simdgroups share one and add up, but a second wave of threadgroups costs more.
  uint32_t split = 1;
  while (split < kMaxSplit && 2 * split <= blocks &&
         2 * split * tiles(lane_rows) <= busy_simdgroups + busy_simdgroups / 4) {
    split *= 2;
  }
  return {lane_rows, split, std::max(split, kLeastSimdgroups)};
}

BatchShape PlanBatch(const LinearOperand& op, const Device& device) {
  const uint32_t busy_simdgroups = device.busy_simdgroups();
  BatchShape shape{.lane_rows = 4, .members = kMaxMembers, .split = 1};
  // Teams that share x read it less often, but a threadgroup a core comes first.
  const uint32_t enough = busy_simdgroups / kSimdgroupsOfCore;
  const auto groups = [&] { return GroupsOf(op, kTileRows * shape.lane_rows, shape.members); };
  while (shape.members > 1 && groups() < enough) shape.members /= 2;
  if (groups() < enough) shape.lane_rows = 2;
  const uint32_t units = DivideUp(op.weight.columns, kUnit);
  while (2 * shape.Simdgroups() <= kMaxBatchSimdgroups && 4 * shape.split <= units &&
         groups() * shape.Simdgroups() < busy_simdgroups) {
    shape.split *= 2;
  }
  return shape;
}

uint32_t BatchShape::SharedBytes() const {
  // One unit of floats, or two of halves, for each team.
  const uint32_t staged = split * kTileRows * kUnit + Simdgroups() * kMaxUnits * kTileRows;
  const uint32_t sums = Simdgroups() * (kTileRows + lane_rows * kTileRows * kTileRows);
  return std::max(staged, split == 1 ? Simdgroups() * kTileRows : sums) * sizeof(float);
}

}  // namespace anllm::metal
