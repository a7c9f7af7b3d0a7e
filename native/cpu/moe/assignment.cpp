#include "assignment.h"

#include <string.h>

namespace anllm::ANLLM_ISA {
namespace {

int32_t* PlaceInts(int64_t count, uint8_t** free) {
  auto* ints = reinterpret_cast<int32_t*>(*free);
  *free += Align64(count * 4);
  return ints;
}

int64_t AddPanels(int32_t expert, int64_t first, int64_t end, ExpertPanel* panels) {
  int64_t count = 0;
  for (int64_t row = first; row < end; row += kPanelRows) {
    panels[count++] = {expert, static_cast<int32_t>(row),
                       static_cast<int32_t>(Smaller(end, row + kPanelRows))};
  }
  return count;
}

}  // namespace

Assignment AssignRows(const float* route, const Step& step, int64_t experts, int64_t top_k, bool has_shared,
                      uint8_t** free) {
  const int64_t count = step.tokens * top_k;
  int32_t* entries = PlaceInts(count + experts + 1, free);
  int32_t* starts = entries + count;
  auto* panels = reinterpret_cast<ExpertPanel*>(*free);
  *free += Align64(MaxExpertPanels(step.tokens, top_k, experts) * static_cast<int64_t>(sizeof(ExpertPanel)));
  const auto expert_of = [&](int64_t entry) {
    return static_cast<int64_t>(route[entry / top_k * (2 * top_k + 1) + entry % top_k]);
  };

  // A counting sort: it keeps the order of the rows.
  memset(starts, 0, sizeof(int32_t) * static_cast<size_t>(experts + 1));
  for (int64_t entry = 0; entry < count; entry++) starts[expert_of(entry) + 1]++;
  for (int64_t expert = 0; expert < experts; expert++) starts[expert + 1] += starts[expert];
  int64_t num_panels = 0;
  for (int64_t expert = 0; expert < experts; expert++) {
    num_panels +=
        AddPanels(static_cast<int32_t>(expert), starts[expert], starts[expert + 1], panels + num_panels);
  }
  if (has_shared) num_panels += AddPanels(kSharedExpert, 0, step.tokens, panels + num_panels);
  for (int64_t entry = 0; entry < count; entry++) {
    entries[starts[expert_of(entry)]++] = static_cast<int32_t>(entry);
  }
  return {entries, panels, num_panels};
}

Activations GatherSlots(const SlotRows& rows, const Assignment& assignment, bool has_floats,
                        const Forms& forms, const Step& step, uint8_t** free) {
  const int64_t count = step.tokens * rows.top_k;
  float* floats = reinterpret_cast<float*>(*free);
  if (has_floats) *free += NormedBytes(count, rows.cols);
  Activations result = PlaceForms(count, rows.cols, forms, free);
  if (has_floats) result.x = floats;
  For(step, assignment.num_panels, [&](int64_t index, int) {
    const ExpertPanel& panel = assignment.panels[index];
    if (panel.expert == kSharedExpert) return;
    int m = 0;
    for (int64_t tile = panel.first; tile < panel.last; tile += m) {
      m = TileRows(panel.last - tile);
      for (int i = 0; i < m; i++) {
        const int64_t entry = assignment.entries[tile + i];
        const float* x = rows.x + entry / rows.top_k * rows.stride + entry % rows.top_k * rows.slot_stride;
        QuantizeRow(x, tile, i, m, forms, result);
        if (has_floats) {
          memcpy(floats + (tile + i) * rows.cols, x, sizeof(float) * static_cast<size_t>(rows.cols));
        }
      }
    }
  });
  return result;
}

}  // namespace anllm::ANLLM_ISA
