#include "operands.h"

namespace anllm::runner {

using namespace metal;

Values ValuesOf(const Request& request, const std::string& name) {
  return {.view = request.View(name),
          .type = static_cast<DType>(request.IntOrZero(name + "_type")),
          .stride = request.IntOrZero(name + "_stride"),
          .column = request.IntOrZero(name + "_column")};
}

Matrix MatrixOf(const Request& request) {
  return {.rows = request.Int("weight_rows"),
          .columns = request.Int("weight_columns"),
          .type = static_cast<DType>(request.Int("weight_type")),
          .data = request.View("weight"),
          .bits = request.IntOrZero("bits"),
          .group_size = request.IntOrZero("group_size"),
          .scale_type = static_cast<DType>(request.IntOrZero("scale_type")),
          .scales = request.View("scales"),
          .biases = request.View("biases")};
}

NormOperand NormOf(const Request& request, const std::string& prefix) {
  if (!request.Has(prefix + "_kind")) return {};
  return {.kind = static_cast<NormKind>(request.Int(prefix + "_kind")),
          .weight = request.View(prefix + "_weight"),
          .bias = request.View(prefix + "_bias"),
          .eps = static_cast<float>(request.Number(prefix + "_eps")),
          .offset = static_cast<float>(request.Number(prefix + "_offset"))};
}

LinearOperand LinearOf(const Request& request) {
  return {.rows = request.Int("rows"),
          .x = ValuesOf(request, "x"),
          .weight = MatrixOf(request),
          .join = {NormOf(request, "join"), request.View("join_residual"), request.View("join_sum")},
          .norm = NormOf(request, "norm"),
          .bias = request.View("bias"),
          .residual = request.View("residual"),
          .out = ValuesOf(request, "out"),
          .outputs = request.Int("outputs"),
          .factor = static_cast<float>(request.Number("factor")),
          .activation = static_cast<ActivationKind>(request.IntOrZero("activation")),
          .is_glu = request.IntOrZero("is_glu") != 0,
          .gate_step = request.IntOrZero("gate_step"),
          .up_offset = request.IntOrZero("up_offset")};
}

AttentionOperand AttentionOf(const Request& request) {
  return {.heads = request.Int("heads"),
          .scale = static_cast<float>(request.Number("scale")),
          .window = request.IntOrZero("window"),
          .softcap = static_cast<float>(request.Number("softcap")),
          .sinks = request.View("sinks"),
          .gate = ValuesOf(request, "gate"),
          .q = ValuesOf(request, "q"),
          .out = ValuesOf(request, "out")};
}

RopeOperand RopeOf(const Request& request) {
  if (!request.Has("frequencies")) return {};
  return {.kind = static_cast<RopeKind>(request.Int("rope_kind")),
          .pairs = static_cast<uint32_t>(request.View("frequencies").size / 8),
          .start = request.IntOrZero("rope_start"),
          .scale = static_cast<float>(request.Number("rope_scale")),
          .frequencies = request.View("frequencies")};
}

PrepareOperand PrepareOf(const Request& request) {
  return {.heads = request.Int("heads"),
          .q_norm = NormOf(request, "q_norm"),
          .k_norm = NormOf(request, "k_norm"),
          .is_whole_row = request.IntOrZero("is_whole_row") != 0,
          .rope = RopeOf(request),
          .qkv = ValuesOf(request, "qkv")};
}

KvLayerOperand KvLayerOf(const Request& request) {
  return {.keys = request.View("keys"),
          .values = request.View("values"),
          .type = static_cast<DType>(request.Int("kv_type")),
          .kv_heads = request.Int("kv_heads"),
          .key_dim = request.Int("key_dim"),
          .value_dim = request.Int("value_dim")};
}

StepOperand StepOf(const Request& request) {
  // Of ops that read offsets.
  const auto sequences = request.Has("offsets") ? request.View("offsets").size / sizeof(int32_t) - 1 : 0;
  return {.rows = request.Int("rows"),
          .sequences = static_cast<uint32_t>(sequences),
          .tokens = request.View("tokens"),
          .positions = request.View("positions"),
          .sequence_of = request.View("sequence_of"),
          .block_tables = request.View("block_tables"),
          .blocks_per_sequence = request.IntOrZero("blocks_per_sequence"),
          .offsets = request.View("offsets"),
          .state_slots = request.View("state_slots")};
}

StateLayerOperand StateLayerOf(const Request& request) {
  return {.inputs = request.View("inputs"),
          .matrices = request.View("matrices"),
          .key_heads = request.Int("key_heads"),
          .value_heads = request.Int("value_heads"),
          .key_dim = request.Int("key_dim"),
          .value_dim = request.Int("value_dim"),
          .taps = request.Int("taps"),
          .tiled = request.Int("tiled") != 0};
}

}  // namespace anllm::runner
