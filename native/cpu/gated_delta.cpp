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
/** Vectors of a state's columns that are updated together. */
constexpr int kColumnVectors = 4;

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

/** silu of the causal depthwise convolution at row `row`; out [channels]. */
void Convolve(const GatedDeltaOp& op, const Step& step, int64_t row, float* out) {
  const int64_t taps = op.state.taps;
  ForVectors(ChannelsOf(op.state), [&](int64_t c, int lanes) {
    F32 sum = Zero();
    for (int64_t j = 0; j < taps; j++) {
      float weights[16] = {};
      for (int lane = 0; lane < lanes; lane++) weights[lane] = op.conv[(c + lane) * taps + j];
      sum = MulAdd(LoadLanes(InputBefore(op, step, row, taps - 1 - j) + c, lanes), Load(weights), sum);
    }
    StoreLanes(out + c, ActivationOf(Activation::kSilu, sum), lanes);
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

/** What one token does to one head's matrix. */
struct Update {
  const float* q;
  const float* k;
  const float* v;
  float kept;
  float beta;
  float* out;
};

/** kVectors * 16 (or the last `lanes`) columns from `column` on. */
template <int kVectors>
void UpdateColumns(const StateLayer& state, const Update& update, float* matrix, int64_t column, int lanes) {
  const int64_t stride = state.value_dim;
  const F32 kept = Set(update.kept);
  F32 recalled[kVectors];
  for (int v = 0; v < kVectors; v++) recalled[v] = Zero();
  for (int64_t i = 0; i < state.key_dim; i++) {
    const F32 k = Set(update.k[i]);
    for (int v = 0; v < kVectors; v++) {
      recalled[v] = MulAdd(k, LoadLanes(matrix + i * stride + column + 16 * v, lanes), recalled[v]);
    }
  }
  F32 delta[kVectors];
  F32 sum[kVectors];
  for (int v = 0; v < kVectors; v++) {
    const F32 value = LoadLanes(update.v + column + 16 * v, lanes);
    delta[v] = Set(update.beta) * (value - kept * recalled[v]);
    sum[v] = Zero();
  }
  for (int64_t i = 0; i < state.key_dim; i++) {
    const F32 k = Set(update.k[i]);
    const F32 q = Set(update.q[i]);
    for (int v = 0; v < kVectors; v++) {
      float* at = matrix + i * stride + column + 16 * v;
      const F32 next = MulAdd(k, delta[v], kept * LoadLanes(at, lanes));
      StoreLanes(at, next, lanes);
      sum[v] = MulAdd(q, next, sum[v]);
    }
  }
  for (int v = 0; v < kVectors; v++) StoreLanes(update.out + column + 16 * v, sum[v], lanes);
}

void UpdateMatrix(const StateLayer& state, const Update& update, float* matrix) {
  ForGroups<kColumnVectors>(state.value_dim / 16, [&](int64_t vector, auto count) {
    UpdateColumns<count.value>(state, update, matrix, 16 * vector, 16);
  });
  const int64_t rest = state.value_dim / 16 * 16;
  if (rest < state.value_dim) {
    UpdateColumns<1>(state, update, matrix, rest, static_cast<int>(state.value_dim - rest));
  }
}

float Softplus(float x) {
  return x > 30.0f ? x : log1pf(expf(x));
}

/** All tokens of a sequence through one value head, in their order. */
void RunHead(const GatedDeltaOp& op, const Step& step, int64_t sequence, int64_t head, const float* qkv) {
  const StateLayer& state = op.state;
  const int64_t channels = ChannelsOf(state);
  const int64_t key_head = state.KeyHead(head);
  const int64_t index = step.state_slots[sequence] * state.value_heads + head;
  float* matrix = state.matrices + index * state.key_dim * state.value_dim;
  for (int64_t row = step.offsets[sequence]; row < step.offsets[sequence + 1]; row++) {
    const float* gates = op.x + row * op.stride + channels;
    const float b = gates[head];
    const float a = gates[state.value_heads + head];
    const float* parts = qkv + row * channels;
    UpdateMatrix(state,
                 {parts + key_head * state.key_dim, parts + (state.key_heads + key_head) * state.key_dim,
                  parts + 2 * state.key_heads * state.key_dim + head * state.value_dim,
                  expf(-expf(op.decay[head]) * Softplus(a + op.time_bias[head])), 1.0f / (1.0f + expf(-b)),
                  op.out + (row * state.value_heads + head) * state.value_dim},
                 matrix);
  }
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
  float* qkv = reinterpret_cast<float*>(step.scratch);
  ForRows(step, step.tokens, channels, [&](int64_t first, int64_t last, int) {
    const float query_length = 1.0f / SquareRoot(static_cast<float>(state.key_dim));
    for (int64_t row = first; row < last; row++) {
      float* parts = qkv + row * channels;
      Convolve(op, step, row, parts);
      for (int64_t head = 0; head < 2 * state.key_heads; head++) {
        const float length = head < state.key_heads ? query_length : 1.0f;
        ScaleToLength(parts + head * state.key_dim, state.key_dim, length);
      }
    }
  });
  For(step, step.sequences * state.value_heads,
      [&](int64_t task, int) { RunHead(op, step, task / state.value_heads, task % state.value_heads, qkv); });
  for (int64_t sequence = 0; sequence < step.sequences; sequence++) MoveWindow(op, step, sequence);
}

}  // namespace anllm::ANLLM_ISA
