#include <string.h>

#include "../shared/norm_row.h"
#include "activations.h"

namespace anllm::ANLLM_ISA {
namespace {

/** One group of one row in a tile of m rows. */
struct GroupPlace {
  int8_t* codes;
  float* scale;
  float* sum;

  GroupPlace(const QuantizedRows& rows, int64_t row, int i, int64_t cols, int64_t group, int64_t size, int m)
      : codes(const_cast<int8_t*>(rows.codes) + row * cols + 4 * i + group * size * m),
        scale(const_cast<float*>(rows.scales) + row * (cols / size) + i + group * m),
        sum(const_cast<float*>(rows.sums) + row * (cols / size) + i + group * m) {}
};

ANLLM_INLINE void StoreCodes(I32 codes, int64_t column, int m, int8_t* target) {
  int8_t lanes[16];
  StoreBytes(lanes, codes);
  for (int quad = 0; quad < 4; quad++) memcpy(target + (column / 4 + quad) * 4 * m, lanes + 4 * quad, 4);
}

/**
 * Quantizes a group: code = round(x / scale), scale = max |x| / 127. What that leaves over is at most half a
 * scale; with `low` it is quantized in steps of scale / 254.
 */
void QuantizeGroup(const float* x, int64_t n, int m, const GroupPlace& high, const GroupPlace* low) {
  F32 peak = Zero();
  for (int64_t i = 0; i < n; i += 16) peak = Max(Abs(Load(x + i)), peak);
  const float highest = Highest(peak);
  const F32 inverse = Set(highest > 0.0f ? 127.0f / highest : 0.0f);
  F32 total = Zero();
  F32 low_total = Zero();
  for (int64_t i = 0; i < n; i += 16) {
    const F32 steps = Load(x + i) * inverse;
    const I32 rounded = ToInt(steps);
    total = total + ToFloat(rounded);
    StoreCodes(rounded, i, m, high.codes);
    if (low == nullptr) continue;
    const I32 rest = ToInt((steps - ToFloat(rounded)) * Set(254.0f));
    low_total = low_total + ToFloat(rest);
    StoreCodes(rest, i, m, low->codes);
  }
  *high.scale = highest / 127.0f;
  *high.sum = *high.scale * Sum(total);
  if (low == nullptr) return;
  *low->scale = *high.scale / 254.0f;
  *low->sum = *low->scale * Sum(low_total);
}

void PlacePlane(int64_t rows, int64_t cols, const Forms& forms, Activations* plane, uint8_t** free) {
  for (int g = 0; g < kNumGroupSizes; g++) {
    if (!forms.by_group_size[g]) continue;
    const int64_t scales = ScalesBytes(rows, cols, kGroupSizes[g]);
    plane->quantized[g].codes = reinterpret_cast<int8_t*>(*free);
    *free += CodesBytes(rows, cols);
    plane->quantized[g].scales = reinterpret_cast<float*>(*free);
    plane->quantized[g].sums = reinterpret_cast<float*>(*free + scales);
    *free += 2 * scales;
  }
}

/** sum = residual + norm(x) of row `row`; returns the sum. */
const float* JoinRow(const Join& join, const float* x, int64_t row, int64_t cols) {
  float* sum = join.sum + row * cols;
  const float* residual = join.residual + row * cols;
  NormalizeGroup(join.norm, x, cols, 0, sum);
  ForVectors(cols, [&](int64_t i, int lanes) {
    StoreLanes(sum + i, LoadLanes(sum + i, lanes) + LoadLanes(residual + i, lanes), lanes);
  });
  return sum;
}

}  // namespace

Activations PlaceForms(int64_t rows, int64_t cols, const Forms& forms, uint8_t** free) {
  Activations result{nullptr, cols, rows, cols, {}, nullptr};
  PlacePlane(rows, cols, forms, &result, free);
  if (forms.Any() && forms.planes > 1) {
    static_assert(sizeof(Activations) <= kPlaneBytes);
    auto* low = reinterpret_cast<Activations*>(*free);
    *free += kPlaneBytes;
    *low = result;
    PlacePlane(rows, cols, forms, low, free);
    result.low = low;
  }
  return result;
}

void QuantizeRow(const float* x, int64_t row, int i, int m, const Forms& forms, const Activations& into) {
  const int64_t cols = into.cols;
  for (int g = 0; g < kNumGroupSizes; g++) {
    if (!forms.by_group_size[g]) continue;
    const int64_t size = kGroupSizes[g];
    for (int64_t k = 0; k < cols / size; k++) {
      const GroupPlace high(into.quantized[g], row, i, cols, k, size, m);
      if (into.low == nullptr) {
        QuantizeGroup(x + k * size, size, m, high, nullptr);
      } else {
        const GroupPlace low(into.low->quantized[g], row, i, cols, k, size, m);
        QuantizeGroup(x + k * size, size, m, high, &low);
      }
    }
  }
}

Activations Prepare(const MatmulInput& input, int64_t rows, int64_t cols, const Forms& forms,
                    const Step& step, uint8_t** free) {
  float* normed = nullptr;
  if (input.norm != nullptr) {
    normed = reinterpret_cast<float*>(*free);
    *free += NormedBytes(rows, cols);
  }
  Activations result = PlaceForms(rows, cols, forms, free);
  if (normed != nullptr) {
    result.x = normed;
  } else if (input.join != nullptr) {
    result.x = input.join->sum;
  } else {
    result.x = input.x;
    result.stride = input.stride;
    if (!forms.Any()) return result;
  }

  For(step, CeilDivide(rows, kTileRows), [&](int64_t task, int) {
    const int64_t end = Smaller(rows, (task + 1) * kTileRows);
    int m = 0;
    for (int64_t tile = task * kTileRows; tile < end; tile += m) {
      m = TileRows(rows - tile);
      for (int i = 0; i < m; i++) {
        const int64_t row = tile + i;
        const float* x = input.x + row * input.stride;
        if (input.join != nullptr) x = JoinRow(*input.join, x, row, cols);
        if (normed != nullptr) NormalizeGroup(*input.norm, x, cols, 0, normed + row * cols);
        QuantizeRow(result.x + row * result.stride, tile, i, m, forms, result);
      }
    }
  });
  return result;
}

}  // namespace anllm::ANLLM_ISA
