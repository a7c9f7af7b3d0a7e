#include <math.h>
#include <string.h>

#include "../kernels/scratch.h"
#include "ops.h"
#include "shared/activate.h"
#include "shared/norm_row.h"

namespace anllm::ANLLM_ISA {
namespace {

/** Under the root of the unit norm of queries and keys. */
constexpr float kUnitNormEps = 1e-6f;
/** Rows that share the weights of the convolution. */
constexpr int kPreparedRows = 8;
/** Vectors of a state's columns that are updated together: three sets of them stay in registers. */
constexpr int kColumnVectors = kStateVectors;
/** Columns that go through all rows of a sequence while they are in the first level cache. */
constexpr int64_t kTaskColumns = 64;

/** The slot's window of inputs, [taps - 1][channels]. */
float* InputsOf(const GatedDeltaOp& op, const Step& step, int64_t sequence) {
  return op.state.inputs + step.state_slots[sequence] * (op.state.taps - 1) * ChannelsOf(op.state);
}

/** The inputs of the convolution `back` tokens before row `row`; tokens of earlier steps lie in the state. */
const float* InputBefore(const GatedDeltaOp& op, const Step& step, int64_t row, int64_t back) {
  const int64_t sequence = step.sequence_of[row];
  const int64_t index = row - step.offsets[sequence] - back;
  if (index >= 0) return op.x + (row - back) * op.stride;
  return InputsOf(op, step, sequence) + (op.state.taps - 1 + index) * ChannelsOf(op.state);
}

/** Channels of one head of queries, keys or values. After the convolution a head's rows lie one after the
 * other. */
struct Head {
  int64_t channel;
  int64_t size;

  float* Row(const Step& step, float* convolved, int64_t row) const {
    return convolved + channel * step.tokens + row * size;
  }
};

/** Queries, then keys, then values. */
Head HeadAt(const StateLayer& state, int64_t index) {
  const int64_t keys = 2 * state.key_heads;
  if (index < keys) return {index * state.key_dim, state.key_dim};
  return {keys * state.key_dim + (index - keys) * state.value_dim, state.value_dim};
}

/**
 * silu of the causal depthwise convolution of a head at kRows rows from `row` on; inputs of each tap, the
 * newest last. The weights lie tap by tap for a channel, so that putting them side by side is shared by the
 * rows.
 */
template <int kRows>
void Convolve(const GatedDeltaOp& op, const Head& head, const float* inputs[kRows][kMaxTaps], float* out) {
  const int64_t taps = op.state.taps;
  ForVectors(head.size, [&](int64_t i, int lanes) {
    const int64_t channel = head.channel + i;
    F32 sums[kRows];
    for (int r = 0; r < kRows; r++) sums[r] = Zero();
    for (int64_t j = 0; j < taps; j++) {
      float weights[16] = {};
      for (int lane = 0; lane < lanes; lane++) weights[lane] = op.conv[(channel + lane) * taps + j];
      for (int r = 0; r < kRows; r++)
        sums[r] = MulAdd(LoadLanes(inputs[r][j] + channel, lanes), Load(weights), sums[r]);
    }
    for (int r = 0; r < kRows; r++)
      StoreLanes(out + r * head.size + i, ActivationOf(Activation::kSilu, sums[r]), lanes);
  });
}

/** x [n] = x * scale / |x|. */
void ScaleToLength(float* x, int64_t n, float scale) {
  F32 square = Zero();
  ForVectors(n, [&](int64_t i, int lanes) {
    const F32 v = KeepRange(LoadLanes(x + i, lanes), 0, lanes, 0.0f);
    square = MulAdd(v, v, square);
  });
  const F32 factor = Set(scale / SquareRoot(Sum(square) + kUnitNormEps));
  ForVectors(n, [&](int64_t i, int lanes) { StoreLanes(x + i, LoadLanes(x + i, lanes) * factor, lanes); });
}

float Softplus(float x) {
  return x > 30.0f ? x : log1pf(expf(x));
}

/** kRows rows from `row` on, through the convolution; queries and keys in unit length, queries over
 * sqrt(key_dim). */
template <int kRows>
void PrepareRows(const GatedDeltaOp& op, const Step& step, int64_t row, float* convolved) {
  const StateLayer& state = op.state;
  const float* inputs[kRows][kMaxTaps];
  for (int r = 0; r < kRows; r++) {
    for (int64_t j = 0; j < state.taps; j++)
      inputs[r][j] = InputBefore(op, step, row + r, state.taps - 1 - j);
  }
  const float query_length = 1.0f / SquareRoot(static_cast<float>(state.key_dim));
  for (int64_t index = 0; index < 2 * state.key_heads + state.value_heads; index++) {
    const Head head = HeadAt(state, index);
    float* out = head.Row(step, convolved, row);
    Convolve<kRows>(op, head, inputs, out);
    if (index >= 2 * state.key_heads) continue;
    const float length = index < state.key_heads ? query_length : 1.0f;
    for (int r = 0; r < kRows; r++) ScaleToLength(out + r * head.size, head.size, length);
  }
}

/** What a head keeps of its matrix at each row and how much it writes, [T][value_heads] of both. */
struct Gate {
  float kept;
  float written;
};

void ComputeGates(const GatedDeltaOp& op, int64_t row, Gate* gates) {
  const int64_t heads = op.state.value_heads;
  const float* x = op.x + row * op.stride + ChannelsOf(op.state);
  for (int64_t head = 0; head < heads; head++) {
    gates[head] = {expf(-expf(op.decay[head]) * Softplus(x[heads + head] + op.time_bias[head])),
                   1.0f / (1.0f + expf(-x[head]))};
  }
}

/** The rows of a sequence that go through some columns of one value head's matrix. */
struct Columns {
  const float* queries;  // [rows][key_dim]
  const float* keys;     // [rows][key_dim]
  const float* values;   // [rows][value_dim]
  const Gate* gates;     // `heads` apart
  int64_t heads;
  float* out;  // out_stride apart
  int64_t out_stride;
  float* matrix;  // [key_dim][value_dim]
  int64_t rows;
  int64_t key_dim;
  int64_t value_dim;
};

/**
 * kVectors * 16 (or the last `lanes`) columns from `column` on through all rows. The pass over the matrix
 * that a row writes in recalls what the next row's key finds, so that each element is read once a row; sums
 * run in the order of the keys whatever the number of rows.
 */
template <int kVectors>
void UpdateColumns(const Columns& c, int64_t column, int lanes) {
  const int64_t stride = c.value_dim;
  float* matrix = c.matrix + column;
  F32 recalled[kVectors];
  for (int v = 0; v < kVectors; v++) recalled[v] = Zero();
  for (int64_t i = 0; i < c.key_dim; i++) {
    const F32 k = Set(c.keys[i]);
    for (int v = 0; v < kVectors; v++)
      recalled[v] = MulAdd(k, LoadLanes(matrix + i * stride + 16 * v, lanes), recalled[v]);
  }
  for (int64_t row = 0; row < c.rows; row++) {
    const float* query = c.queries + row * c.key_dim;
    const float* key = c.keys + row * c.key_dim;
    const float* value = c.values + row * c.value_dim + column;
    const Gate& gate = c.gates[row * c.heads];
    const F32 kept = Set(gate.kept);
    F32 delta[kVectors];
    F32 sum[kVectors];
    for (int v = 0; v < kVectors; v++) {
      delta[v] = Set(gate.written) * (LoadLanes(value + 16 * v, lanes) - kept * recalled[v]);
      sum[v] = recalled[v] = Zero();
    }
    const auto pass = [&](auto has_next) {
      for (int64_t i = 0; i < c.key_dim; i++) {
        const F32 k = Set(key[i]);
        const F32 q = Set(query[i]);
        const F32 next_k = has_next.value > 0 ? Set(key[c.key_dim + i]) : Zero();
        for (int v = 0; v < kVectors; v++) {
          float* at = matrix + i * stride + 16 * v;
          const F32 next = MulAdd(k, delta[v], kept * LoadLanes(at, lanes));
          StoreLanes(at, next, lanes);
          sum[v] = MulAdd(q, next, sum[v]);
          if constexpr (has_next.value > 0) recalled[v] = MulAdd(next_k, next, recalled[v]);
        }
      }
    };
    row + 1 < c.rows ? pass(Count<1>{}) : pass(Count<0>{});
    for (int v = 0; v < kVectors; v++)
      StoreLanes(c.out + row * c.out_stride + column + 16 * v, sum[v], lanes);
  }
}

/** All rows of a sequence through columns [first, last) of one value head. */
void RunColumns(const GatedDeltaOp& op, const Step& step, int64_t sequence, int64_t head, float* convolved,
                const Gate* gates, int64_t first, int64_t last) {
  const StateLayer& state = op.state;
  const int64_t row = step.offsets[sequence];
  const int64_t key_head = state.KeyHead(head);
  const int64_t index = step.state_slots[sequence] * state.value_heads + head;
  const int64_t width = state.value_heads * state.value_dim;
  const auto rows_of = [&](int64_t part) { return HeadAt(state, part).Row(step, convolved, row); };
  const Columns columns{.queries = rows_of(key_head),
                        .keys = rows_of(state.key_heads + key_head),
                        .values = rows_of(2 * state.key_heads + head),
                        .gates = gates + row * state.value_heads + head,
                        .heads = state.value_heads,
                        .out = op.out + row * width + head * state.value_dim,
                        .out_stride = width,
                        .matrix = state.matrices + index * state.key_dim * state.value_dim,
                        .rows = step.offsets[sequence + 1] - row,
                        .key_dim = state.key_dim,
                        .value_dim = state.value_dim};
  ForGroups<kColumnVectors>((last - first) / 16, [&](int64_t vector, auto count) {
    UpdateColumns<count.value>(columns, first + 16 * vector, 16);
  });
  const int64_t rest = (last - first) % 16;
  if (rest > 0) UpdateColumns<1>(columns, last - rest, static_cast<int>(rest));
}

/** The window of inputs moves on to the last taps - 1 tokens. */
void MoveWindow(const GatedDeltaOp& op, const Step& step, int64_t sequence) {
  const int64_t channels = ChannelsOf(op.state);
  const int64_t window = op.state.taps - 1;
  const int64_t last = step.offsets[sequence + 1] - 1;
  float* inputs = InputsOf(op, step, sequence);
  // From old to new: what moves within the window moves to earlier places.
  for (int64_t j = 0; j < window; j++) {
    memmove(inputs + j * channels, InputBefore(op, step, last, window - 1 - j),
            sizeof(float) * static_cast<size_t>(channels));
  }
}

}  // namespace

void GatedDelta(const GatedDeltaOp& op, const Step& step) {
  const StateLayer& state = op.state;
  const int64_t channels = ChannelsOf(state);
  float* convolved = reinterpret_cast<float*>(step.scratch);
  Gate* gates = reinterpret_cast<Gate*>(convolved + step.tokens * channels);
  ForRows(step, step.tokens, channels, [&](int64_t first, int64_t last, int) {
    ForGroups<kPreparedRows>(last - first, [&](int64_t row, auto count) {
      PrepareRows<count.value>(op, step, first + row, convolved);
    });
    for (int64_t row = first; row < last; row++) ComputeGates(op, row, gates + row * state.value_heads);
  });
  const int64_t tasks = CeilDivide(state.value_dim, kTaskColumns);
  For(step, step.sequences * state.value_heads * tasks, [&](int64_t task, int) {
    const int64_t head = task / tasks % state.value_heads;
    const int64_t first = task % tasks * kTaskColumns;
    RunColumns(op, step, task / tasks / state.value_heads, head, convolved, gates, first,
               Smaller(state.value_dim, first + kTaskColumns));
  });
  for (int64_t sequence = 0; sequence < step.sequences; sequence++) MoveWindow(op, step, sequence);
}

}  // namespace anllm::ANLLM_ISA
