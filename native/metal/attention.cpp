#include <algorithm>

#include "../error.h"
#include "attention_prepare.h"

namespace anllm::metal {

namespace {

/** Up to this many keys a row is one threadgroup a key/value head and needs no second pass. */
constexpr uint32_t kOnePassKeys = 1024;
/** Keys that a simdgroup takes at a time. */
constexpr uint32_t kTileKeys = 32;
constexpr uint32_t kMaxSplits = 64;
constexpr uint32_t kMaxSimdgroups = 8;
/** Less than what a threadgroup may have, so that one core holds several. */
constexpr uint32_t kSharedBytes = 16896;
/** MAX_HEADS, MAX_QUERIES and SUMMARY of metal/attention_decode.metal. */
constexpr uint32_t kMaxHeads = 4;
constexpr uint32_t kMaxQueries = 32;
constexpr uint32_t kSummary = 4;
/** Rows of a matrix, and BLOCK_DIM and columns of MAX_MATRICES of metal/decode_matrix.h. */
constexpr uint32_t kMatrixRows = 8;
constexpr uint32_t kMatrixBlock = 64;
constexpr uint32_t kMaxMatrixDim = 128;
constexpr uint32_t kCombineSimdgroups = 8;
/** No device is taken to be wider: memory for the splits is planned without one. */
constexpr uint32_t kMostBusySimdgroups = 4096;

/** How the simdgroups of a threadgroup divide heads and keys. */
struct Shape {
  uint32_t heads_per_simdgroup;
  /** Simdgroups side by side for different heads. */
  uint32_t sets;
  /** Simdgroups that share the keys of a head. */
  uint32_t parts;
  /** Threadgroups for all heads of one key/value head. */
  uint32_t set_groups;
  uint32_t shared_bytes;
};

/** Whether single rows go through matrices of halves, where eight heads cost what one does: for many heads.
 */
bool HasMatrices(const AttentionOperand& op, const KvLayerOperand& layer) {
  return op.heads / layer.kv_heads > kMaxHeads && op.q.type == DTYPE_F16 && layer.type != DTYPE_F32 &&
         layer.key_dim % kMatrixBlock == 0 && layer.value_dim % kMatrixBlock == 0 &&
         std::max(layer.key_dim, layer.value_dim) <= kMaxMatrixDim;
}

Shape ShapeOf(const AttentionOperand& op, const KvLayerOperand& layer) {
  const uint32_t group_heads = op.heads / layer.kv_heads;
  const uint32_t queries = layer.key_dim > 128 ? 16 : 8;
  const uint32_t most_heads =
      HasMatrices(op, layer) ? kMatrixRows : std::min(kMaxHeads, kMaxQueries / queries);
  const uint32_t group_sets = DivideUp(group_heads, most_heads);
  const uint32_t heads = DivideUp(group_heads, group_sets);
  const uint32_t simdgroup_bytes = heads * (layer.value_dim + kSummary) * sizeof(float);
  const uint32_t simdgroups = std::clamp(kSharedBytes / simdgroup_bytes, 1u, kMaxSimdgroups);
  const uint32_t sets = std::min(group_sets, simdgroups);
  const uint32_t parts = simdgroups / sets;
  return {heads, sets, parts, DivideUp(group_sets, sets), sets * parts * simdgroup_bytes};
}

/** As many splits as keep the GPU busy, each simdgroup with a tile of keys at least. */
uint32_t SplitsOf(const AttentionOperand& op, const AttentionWork& work, const KvLayerOperand& layer,
                  uint32_t busy_simdgroups) {
  const uint32_t keys = op.window == 0 ? work.longest : std::min(work.longest, op.window);
  if (keys <= kOnePassKeys) return 1;
  const Shape shape = ShapeOf(op, layer);
  const uint32_t groups = layer.kv_heads * shape.set_groups * work.row_count;
  // Registers of matrices leave a core half as many. A second wave of threadgroups costs more than what fewer
  // splits leave idle.
  const uint32_t held = HasMatrices(op, layer) ? busy_simdgroups / 2 : busy_simdgroups;
  const uint32_t wanted = held / (groups * shape.sets * shape.parts);
  return std::clamp(wanted, 1u, std::min(DivideUp(keys, kTileKeys * shape.parts), kMaxSplits));
}

void CheckDimensions(const AttentionOperand& op, const KvLayerOperand& layer) {
  for (const uint32_t dim : {layer.key_dim, layer.value_dim}) {
    if (dim == 0 || dim % 8 != 0 || dim > MAX_HEAD_DIM) {
      throw Unsupported("[attention] head dimension " + std::to_string(dim) +
                        ": expected a multiple of 8 up to " + std::to_string(MAX_HEAD_DIM));
    }
  }
  if (layer.kv_heads == 0 || op.heads % layer.kv_heads != 0) {
    throw Unsupported("[attention] " + std::to_string(op.heads) + " heads over " +
                      std::to_string(layer.kv_heads) + " key/value heads: expected a multiple");
  }
}

Constants ConstantsOf(const AttentionOperand& op, const KvLayerOperand& layer) {
  return {.out_type = op.out.type,
          .key_dim = layer.key_dim,
          .value_dim = layer.value_dim,
          .kv_type = layer.type,
          .has_window = op.window != 0,
          .has_softcap = op.softcap != 0,
          .has_sinks = op.sinks.buffer != nullptr,
          .has_gate = op.gate.view.buffer != nullptr,
          .gate_type = op.gate.type};
}

AttentionParams ParamsOf(const StepOperand& step, const AttentionOperand& op, const KvLayerOperand& layer) {
  return {.heads = op.heads,
          .kv_heads = layer.kv_heads,
          .blocks_per_sequence = step.blocks_per_sequence,
          .scale = op.scale,
          .window = op.window,
          .softcap = op.softcap,
          .splits = 1,
          .gate_stride = StrideOf(op.gate, op.heads * layer.value_dim),
          .gate_column = op.gate.column};
}

/** How single rows are divided, which `constants` and `params` say too from now on. */
Launch DecodeLaunch(const char* kernel, Dispatcher& dispatcher, const AttentionWork& work,
                    const AttentionOperand& op, const KvLayerOperand& layer, Constants& constants,
                    AttentionParams& params) {
  const Shape shape = ShapeOf(op, layer);
  params.splits =
      SplitsOf(op, work, layer, std::min(dispatcher.device().busy_simdgroups(), kMostBusySimdgroups));
  constants.heads_per_simdgroup = shape.heads_per_simdgroup;
  constants.simdgroups = shape.sets * shape.parts;
  constants.split = shape.parts;
  return {kernel,
          constants,
          {layer.kv_heads * shape.set_groups, work.row_count, params.splits},
          constants.simdgroups * kSimdWidth,
          shape.shared_bytes};
}

/** Adds the splits up, if there are several. */
void Combine(Dispatcher& dispatcher, const AttentionWork& work, const AttentionOperand& op,
             const Constants& constants, const AttentionParams& params, const Scratch& scratch) {
  if (params.splits == 1) return;
  dispatcher.Barrier();
  dispatcher.Run(
      {"attention_combine", constants, {op.heads, work.row_count, 1}, kCombineSimdgroups * kSimdWidth},
      {scratch.parts, work.rows, op.sinks, op.gate.view, op.out.view}, params);
}

}  // namespace

size_t AttentionScratchOf(const AttentionOperand& op, const AttentionWork& work,
                          const KvLayerOperand& layer) {
  const uint32_t splits = SplitsOf(op, work, layer, kMostBusySimdgroups);
  if (splits == 1) return 0;
  return size_t{work.row_count} * op.heads * splits * (layer.value_dim + kSummary) * sizeof(float);
}

void Attention(Dispatcher& dispatcher, const StepOperand& step, const AttentionWork& work,
               const AttentionOperand& op, const KvLayerOperand& layer, const Scratch& scratch) {
  CheckDimensions(op, layer);
  Constants constants = ConstantsOf(op, layer);
  constants.x_type = op.q.type;
  AttentionParams params = ParamsOf(step, op, layer);
  if (work.tile_count > 0) {
    // Codes become what queries are.
    const DType type = layer.type == DTYPE_I8 ? op.q.type : layer.type;
    const char* kernel = type == DTYPE_F16 ? "attention_prefill_f16" : "attention_prefill_f32";
    dispatcher.Run({kernel, constants, {work.tile_count, op.heads, 1}, 4 * kSimdWidth},
                   {op.q.view, layer.keys, layer.values, work.tiles, step.positions, step.block_tables,
                    op.sinks, op.gate.view, op.out.view},
                   params);
  }
  if (work.row_count == 0) return;
  dispatcher.Run(DecodeLaunch(HasMatrices(op, layer) ? "attention_decode_matrix" : "attention_decode",
                              dispatcher, work, op, layer, constants, params),
                 {op.q.view, layer.keys, layer.values, work.rows, step.positions, step.sequence_of,
                  step.block_tables, op.sinks, op.gate.view, op.out.view, scratch.parts},
                 params);
  Combine(dispatcher, work, op, constants, params, scratch);
}

bool CanAppend(const StepOperand& step, const AttentionWork& work, const AttentionOperand& op,
               const KvLayerOperand& layer) {
  const bool has_one_row_each = step.rows == step.sequences && work.row_count == step.rows;
  // Two threadgroups would write the same key.
  return has_one_row_each && ShapeOf(op, layer).set_groups == 1;
}

void AttentionAppend(Dispatcher& dispatcher, const StepOperand& step, const AttentionWork& work,
                     const PrepareOperand& prepare, const AttentionOperand& op, const KvLayerOperand& layer,
                     const Scratch& scratch) {
  CheckDimensions(op, layer);
  Constants constants = ConstantsOf(op, layer);
  DescribePrepare(prepare, layer, constants);
  AttentionAppendParams params{ParamsOf(step, op, layer), PrepareParamsOf(step, prepare, layer)};
  dispatcher.Run(
      DecodeLaunch(HasMatrices(op, layer) ? "attention_append_matrix" : "attention_append", dispatcher, work,
                   op, layer, constants, params.attention),
      {prepare.qkv.view, layer.keys, layer.values, work.rows, step.positions, step.sequence_of,
       step.block_tables, op.sinks, op.gate.view, op.out.view, scratch.parts, prepare.q_norm.weight,
       prepare.q_norm.bias, prepare.k_norm.weight, prepare.k_norm.bias, prepare.rope.frequencies},
      params);
  Combine(dispatcher, work, op, constants, params.attention, scratch);
}

}  // namespace anllm::metal
