#include "matmul/blocks.h"
#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {
namespace {

/** out [rows, out_cols] = x · wᵀ + bias in floats: a code's rounding must not choose another expert. */
void Multiply(const Matrix& w, const Activations& x, const float* bias, float* out, const Step& step) {
  const Tiles tiles = FloatTiles(w);
  ForBlocks(step, CeilDivide(w.rows, kBlockRows), x.rows,
            [&](int64_t first, int64_t last, int64_t first_row, int64_t last_row) {
              for (int64_t block = first; block < last; block++) {
                const int64_t column = block * kBlockRows;
                const int lanes = static_cast<int>(Smaller(kBlockRows, w.rows - column));
                int m = 0;
                for (int64_t row = first_row; row < last_row; row += m) {
                  m = TileRows(x.rows - row);
                  alignas(64) float sums[kTileRows * 16];
                  tiles.tile[LogRows(m)](w, block, x, row, sums);
                  for (int i = 0; i < m; i++) {
                    F32 y = Load(sums + 16 * i);
                    if (bias != nullptr) y = y + LoadLanes(bias + column, lanes);
                    StoreLanes(out + (row + i) * w.rows + column, y, lanes);
                  }
                }
              }
            });
}

/** x [n] = e^x / Σ e^x. */
void Softmax(float* x, int64_t n) {
  float highest = x[0];
  for (int64_t i = 1; i < n; i++) highest = x[i] > highest ? x[i] : highest;
  F32 total = Zero();
  ForVectors(n, [&](int64_t i, int lanes) {
    const F32 e = KeepRange(Exp(LoadLanes(x + i, lanes) - Set(highest)), 0, lanes, 0.0f);
    total = total + e;
    StoreLanes(x + i, e, lanes);
  });
  const F32 sum = Set(Sum(total));
  ForVectors(n, [&](int64_t i, int lanes) { StoreLanes(x + i, LoadLanes(x + i, lanes) / sum, lanes); });
}

/** Memory of one row's choice, [experts] each. */
struct Choice {
  float* scores;
  float* ranks;
  float* group_ranks;
  float* is_open;  // 1 while an expert can still be chosen
};

/** The first of the open items of the highest rank; some open one whatever the ranks are. */
int64_t TakeBest(const float* ranks, int64_t count, float* is_open) {
  int64_t best = -1;
  for (int64_t i = 0; i < count; i++) {
    if (is_open[i] != 0.0f && (best < 0 || ranks[i] > ranks[best])) best = i;
  }
  is_open[best] = 0.0f;
  return best;
}

/** Closes the experts of all groups but the best. */
void KeepBestGroups(const Routing& routing, const Choice& choice) {
  const int64_t size = routing.experts / routing.groups;
  for (int64_t group = 0; group < routing.groups; group++) {
    const float* ranks = choice.ranks + group * size;
    float best = ranks[0];
    float second = size > 1 ? ranks[1] : 0.0f;
    if (size > 1 && second > best) {
      best = ranks[1];
      second = ranks[0];
    }
    for (int64_t i = 2; i < size; i++) {
      if (ranks[i] > best) {
        second = best;
        best = ranks[i];
      } else if (ranks[i] > second) {
        second = ranks[i];
      }
    }
    choice.group_ranks[group] = routing.rank_by_two_best ? best + second : best;
  }
  // `is_open` serves the groups first; a group that was taken is one that stays.
  for (int64_t group = 0; group < routing.groups; group++) choice.is_open[group] = 1.0f;
  for (int64_t i = 0; i < routing.kept_groups; i++) {
    TakeBest(choice.group_ranks, routing.groups, choice.is_open);
  }
  for (int64_t expert = routing.experts - 1; expert >= 0; expert--) {
    choice.is_open[expert] = 1.0f - choice.is_open[expert / size];
  }
}

/** Chooses the experts of one row from its logits, which lie in choice.scores; out [2 * top_k]. */
void ChooseExperts(const Routing& routing, const float* correction, const Choice& choice, float* out) {
  const int64_t experts = routing.experts;
  if (routing.scores == Scores::kSoftmax) Softmax(choice.scores, experts);
  ForVectors(experts, [&](int64_t i, int lanes) {
    F32 score = LoadLanes(choice.scores + i, lanes);
    if (routing.scores == Scores::kSigmoid) score = ActivationOf(Activation::kSigmoid, score);
    StoreLanes(choice.scores + i, score, lanes);
    if (correction != nullptr) score = score + LoadLanes(correction + i, lanes);
    StoreLanes(choice.ranks + i, score, lanes);
    StoreLanes(choice.is_open + i, Set(1.0f), lanes);
  });
  if (routing.groups > 0) KeepBestGroups(routing, choice);
  float* weights = out + routing.top_k;
  for (int64_t i = 0; i < routing.top_k; i++) {
    const int64_t expert = TakeBest(choice.ranks, experts, choice.is_open);
    out[i] = static_cast<float>(expert);
    weights[i] = choice.scores[expert];
  }
  if (routing.scores == Scores::kSoftmaxOfChosen) Softmax(weights, routing.top_k);
  float total = 0.0f;
  for (int64_t i = 0; i < routing.top_k; i++) total += weights[i];
  const float scale = routing.normalize ? routing.factor / total : routing.factor;
  for (int64_t i = 0; i < routing.top_k; i++) weights[i] *= scale;
}

}  // namespace

void MoeRoute(const MoeRouteOp& op, const Step& step) {
  const Routing& routing = op.routing;
  uint8_t* free = step.scratch;
  const Activations x = Prepare(op.input, step.tokens, op.router.cols, Forms{}, step, &free);
  float* logits = reinterpret_cast<float*>(free);
  float* shared = logits + step.tokens * routing.experts;
  Multiply(op.router, x, op.bias, logits, step);
  if (op.shared_gate.rows > 0) Multiply(op.shared_gate, x, nullptr, shared, step);
  ForRows(step, step.tokens, routing.experts * routing.top_k, [&](int64_t first, int64_t last, int thread) {
    float* memory = reinterpret_cast<float*>(step.thread_scratch + thread * step.thread_scratch_bytes);
    for (int64_t row = first; row < last; row++) {
      float* out = op.out + row * (2 * routing.top_k + 1);
      const Choice choice = {logits + row * routing.experts, memory, memory + routing.experts,
                             memory + 2 * routing.experts};
      ChooseExperts(routing, op.correction, choice, out);
      float weight[16] = {1.0f};
      if (op.shared_gate.rows > 0) Store(weight, ActivationOf(Activation::kSigmoid, Set(shared[row])));
      out[2 * routing.top_k] = weight[0];
    }
  });
}

}  // namespace anllm::ANLLM_ISA
