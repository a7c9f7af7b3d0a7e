/** extension/engine/core/program.ts in C++; that file says what each op computes. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../kernels/kernels.h"

namespace anllm::program {

using ValueId = int64_t;
using WeightId = int64_t;
/** An absent value or weight. */
constexpr int64_t kNone = -1;

struct ValueSpec {
  Rows rows;
  int64_t cols;
};

struct WeightSpec {
  std::string name;
  bool is_matrix;
  int64_t rows;
  int64_t cols;
};

struct Columns {
  ValueId value;
  int64_t column;
};

struct NormSpec {
  bool is_layer_norm;
  WeightId weight;
  WeightId bias;
  double eps;
  double offset;
};

struct RopeSpec {
  std::vector<double> inverse_frequencies;
  double scale;
  bool is_interleaved;
  int64_t start;
};

struct JoinSpec {
  ValueId residual;
  NormSpec norm;
  ValueId sum;
};

struct NormGate {
  Columns columns;
  Activation activation;
};

struct KvLayerSpec {
  int64_t kv_heads;
  int64_t key_dim;
  int64_t value_dim;
};

struct StateLayerSpec {
  int64_t key_heads;
  int64_t value_heads;
  int64_t key_dim;
  int64_t value_dim;
  int64_t taps;
  bool tiled;

  /** Of the convolution: q, k and v side by side. */
  int64_t Channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

struct Embed {
  static constexpr const char* kName = "embed";
  WeightId weight;
  double scale;
  ValueId out;
};

struct Normalize {
  static constexpr const char* kName = "norm";
  ValueId x;
  NormSpec norm;
  int64_t groups;
  std::optional<NormGate> gate;
  ValueId residual;
  ValueId out;
};

struct Linear {
  static constexpr const char* kName = "linear";
  ValueId x;
  std::vector<WeightId> weights;
  std::vector<WeightId> biases;
  std::optional<NormSpec> norm;
  ValueId residual;
  std::optional<JoinSpec> join;
  int64_t column;
  double factor;
  Activation activation;
  ValueId out;
};

struct Glu {
  static constexpr const char* kName = "glu";
  ValueId x;
  WeightId gate;
  WeightId up;
  WeightId gate_bias;
  WeightId up_bias;
  Activation activation;
  std::optional<NormSpec> norm;
  std::optional<JoinSpec> join;
  ValueId out;
};

struct Activate {
  static constexpr const char* kName = "activation";
  ValueId gate;
  ValueId up;
  Activation activation;
  ValueId out;
};

struct Rope {
  static constexpr const char* kName = "rope";
  ValueId x;
  int64_t heads;
  int64_t head_dim;
  RopeSpec rope;
  ValueId out;
};

struct KvWrite {
  static constexpr const char* kName = "kv_write";
  ValueId k;
  ValueId v;
  ValueId shared_key;
  int64_t layer;
};

struct AttentionPrepare {
  static constexpr const char* kName = "attention_prepare";
  ValueId qkv;
  int64_t layer;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  std::optional<NormSpec> q_norm;
  std::optional<NormSpec> k_norm;
  bool whole_row_norm;
  std::optional<RopeSpec> rope;
  ValueId out;
};

struct LatentPrepare {
  static constexpr const char* kName = "latent_prepare";
  Columns q;
  ValueId kv;
  Columns shared_key;
  int64_t layer;
  int64_t heads;
  RopeSpec rope;
  ValueId out;
};

struct Attention {
  static constexpr const char* kName = "attention";
  ValueId q;
  int64_t layer;
  int64_t heads;
  double scale;
  int64_t window;  // 0: all
  double softcap;  // 0: none
  WeightId sinks;
  std::optional<Columns> gate;
  ValueId out;
};

struct GatedDelta {
  static constexpr const char* kName = "gated_delta";
  ValueId x;
  int64_t layer;
  WeightId conv;
  WeightId decay;
  WeightId time_bias;
  ValueId out;
};

struct MoeRoute {
  static constexpr const char* kName = "moe_route";
  ValueId x;
  std::optional<NormSpec> norm;
  WeightId router;
  WeightId bias;
  WeightId correction;
  WeightId shared_gate;
  Routing routing;
  ValueId out;
};

struct MoeLinear {
  static constexpr const char* kName = "moe_linear";
  bool reduce;
  ValueId x;
  ValueId route;
  int64_t experts;
  int64_t top_k;
  std::vector<WeightId> weights;
  WeightId bias;
  WeightId shared;
  ValueId residual;
  ValueId out;
};

struct MoeGlu {
  static constexpr const char* kName = "moe_glu";
  ValueId x;
  std::optional<NormSpec> norm;
  ValueId route;
  int64_t experts;
  int64_t top_k;
  std::vector<WeightId> gate;
  std::vector<WeightId> up;
  WeightId gate_bias;
  WeightId up_bias;
  WeightId shared_gate;
  WeightId shared_up;
  Activation activation;
  ValueId out;
};

struct Add {
  static constexpr const char* kName = "add";
  ValueId a;
  ValueId b;
  ValueId out;
};

struct Scale {
  static constexpr const char* kName = "scale";
  ValueId x;
  double factor;
  double softcap;  // 0: none
  ValueId out;
};

struct GatherRows {
  static constexpr const char* kName = "gather_rows";
  ValueId x;
  ValueId out;
};

using Instruction =
    std::variant<Embed, Normalize, Linear, Glu, Activate, Rope, KvWrite, AttentionPrepare, LatentPrepare,
                 Attention, GatedDelta, MoeRoute, MoeLinear, MoeGlu, Add, Scale, GatherRows>;

struct Program {
  int64_t vocab_size;
  std::vector<ValueSpec> values;
  std::vector<WeightSpec> weights;
  std::vector<KvLayerSpec> kv_layers;
  std::vector<StateLayerSpec> state_layers;
  std::vector<Instruction> instructions;
  ValueId logits;
  /** [T, cols]: what steps leave to be read beside the logits; kNone: nothing. */
  ValueId hidden = kNone;
};

}  // namespace anllm::program
