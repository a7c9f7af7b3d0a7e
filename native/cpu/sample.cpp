#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/scratch.h"
#include "../simd/math.h"
#include "ops.h"
#include "shared/parallel.h"

namespace anllm::ANLLM_ISA {
namespace {

/** Weights below exp(-kRange) of the largest vanish in sums; such tokens are never drawn. */
constexpr float kRange = 30.0f;
/** So few are sorted. */
constexpr int64_t kFew = 64;

/** Philox4x32-10 (Salmon et al., SC 2011): `uniform` of extension/engine/generation/philox.ts. */
double UniformNumber(uint64_t seed, uint64_t index) {
  uint32_t c[4] = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0};
  uint32_t k[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t first = uint64_t{0xd2511f53} * c[0];
    const uint64_t second = uint64_t{0xcd9e8d57} * c[2];
    c[0] = static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0];
    c[1] = static_cast<uint32_t>(second);
    c[2] = static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1];
    c[3] = static_cast<uint32_t>(first);
    k[0] += 0x9e3779b9;
    k[1] += 0xbb67ae85;
  }
  return (static_cast<double>(c[0] >> 5) * 67108864.0 + (c[1] >> 6)) / 9007199254740992.0;
}

bool IsAllowed(const Draw& draw, int64_t id) {
  return draw.allowed == nullptr || (draw.allowed[id / 32] >> (id % 32) & 1) != 0;
}

/** The largest logit that may be drawn; -infinity when there is none. */
float Largest(const Draw& draw, const float* logits, int64_t columns) {
  constexpr int kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  if (draw.allowed == nullptr) {
    for (; i + kLanes <= columns; i += kLanes) {
      for (int k = 0; k < kLanes; k++) lanes[k] = logits[i + k] > lanes[k] ? logits[i + k] : lanes[k];
    }
  }
  for (; i < columns; i++) {
    if (logits[i] > lanes[0] && IsAllowed(draw, i)) lanes[0] = logits[i];
  }
  return *std::max_element(lanes, lanes + kLanes);
}

/** The tokens of a row that have a weight, and their order by falling logit, the lower id first among equals.
 */
class FallingOrder {
 public:
  /** `weights` and `ids` are memory for [columns] each. */
  FallingOrder(const Draw& draw, const float* logits, float best, int64_t columns, float* weights,
               int32_t* ids)
      : logits_(logits), weights_(weights), begin_(ids), end_(ids) {
    const F32 top = Set(best);
    const F32 scale = Set(1.0f / draw.temperature);
    ForVectors(columns, [&](int64_t i, int lanes) {
      StoreLanes(weights + i, Exp((LoadLanes(logits + i, lanes) - top) * scale), lanes);
    });
    const float range = kRange * draw.temperature;
    for (int64_t id = 0; id < columns; id++) {
      if (best - logits[id] < range && IsAllowed(draw, id)) *end_++ = static_cast<int32_t>(id);
    }
  }

  int64_t size() const { return end_ - begin_; }

  double Mass() const {
    double mass = 0;
    for (const int32_t* id = begin_; id < end_; id++) mass += weights_[*id];
    return mass;
  }

  /** Leaves the first `count` tokens. */
  void KeepCount(int64_t count) {
    KeepReaching(static_cast<double>(count), [](int32_t) { return 1.0; });
  }
  /** Leaves as many of the first tokens as have this mass together, and returns the last of them. */
  int32_t KeepMass(double mass) {
    return KeepReaching(mass, [this](int32_t id) { return static_cast<double>(weights_[id]); });
  }
  /** Leaves the tokens of at least this weight. */
  void KeepWeight(double weight) {
    end_ =
        std::partition(begin_, end_, [&](int32_t id) { return static_cast<double>(weights_[id]) >= weight; });
  }

 private:
  /**
   * Leaves the shortest prefix of the order whose sizes add up to `target`, or all; at least one. Halves the
   * range of logits in which the prefix ends; only what is left is sorted.
   */
  template <class Size>
  int32_t KeepReaching(double target, Size size_of) {
    int32_t* begin = begin_;
    int32_t* end = end_;
    const auto falls = [this](int32_t a, int32_t b) { return logits_[a] < logits_[b]; };
    float low = logits_[*std::min_element(begin, end, falls)];
    float high = logits_[*std::max_element(begin, end, falls)];
    double passed = 0;
    while (end - begin > kFew) {
      const float middle = low + (high - low) / 2;
      if (middle <= low) break;
      int32_t* rest = std::partition(begin, end, [&](int32_t id) { return logits_[id] >= middle; });
      double upper = 0;
      for (const int32_t* id = begin; id < rest; id++) upper += size_of(*id);
      if (passed + upper >= target) {
        end = rest;
        low = middle;
      } else {
        passed += upper;
        begin = rest;
        high = middle;
      }
    }
    std::sort(begin, end, [this](int32_t a, int32_t b) {
      return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
    });
    int32_t* last = begin;
    for (passed += size_of(*last); passed < target && last + 1 < end; passed += size_of(*last)) last++;
    end_ = last + 1;
    return *last;
  }

  const float* logits_;
  const float* weights_;
  int32_t* begin_;
  int32_t* end_;
};

int32_t DrawToken(const Draw& draw, const float* logits, int64_t columns, float* weights, int32_t* ids) {
  const float best = Largest(draw, logits, columns);
  if (!std::isfinite(best)) return -1;
  if (draw.temperature == 0) {
    int64_t id = std::find(logits, logits + columns, best) - logits;
    while (!IsAllowed(draw, id)) id = std::find(logits + id + 1, logits + columns, best) - logits;
    return static_cast<int32_t>(id);
  }
  FallingOrder order(draw, logits, best, columns, weights, ids);
  if (draw.top_k > 0 && draw.top_k < order.size()) order.KeepCount(draw.top_k);
  if (draw.top_p < 1) order.KeepMass(draw.top_p * order.Mass());
  if (draw.min_p > 0) order.KeepWeight(draw.min_p);
  return order.KeepMass(UniformNumber(draw.seed, draw.index) * order.Mass());
}

}  // namespace

void Sample(const SampleOp& op, const Step& step) {
  For(step, step.logit_rows, [&](int64_t row, int thread) {
    if (!op.draws[row].is_wanted) return;
    float* weights = reinterpret_cast<float*>(op.memory + thread * SampleThreadBytes(op.columns));
    op.ids[row] = DrawToken(op.draws[row], op.logits + row * op.stride, op.columns, weights,
                            reinterpret_cast<int32_t*>(weights + op.columns));
  });
}

}  // namespace anllm::ANLLM_ISA
