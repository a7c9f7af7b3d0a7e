#include <algorithm>

#include "../error.h"
#include "ops.h"

namespace anllm::metal {

void Normalize(Dispatcher& dispatcher, uint32_t rows, uint32_t columns, uint32_t groups, const Values& x,
               const NormOperand& norm, const Values& out, const NormEpilogue& epilogue) {
  const uint32_t size = columns / groups;
  const bool has_weight = norm.weight.buffer != nullptr;
  // Four elements a thread, so that one row's latency is short and many rows fill the GPU with few threads
  // each.
  const uint32_t simdgroups = std::clamp(DivideUp(size, 4 * kSimdWidth), 1u, 32u);
  const Constants constants{.x_type = x.type,
                            .out_type = out.type,
                            .norm = norm.kind,
                            .has_norm_weight = has_weight,
                            .has_norm_bias = norm.bias.buffer != nullptr,
                            .has_residual = epilogue.residual.buffer != nullptr,
                            .activation = epilogue.activation,
                            .simdgroups = simdgroups,
                            .has_gate = epilogue.gate.view.buffer != nullptr,
                            .gate_type = epilogue.gate.type};
  const auto weight_size = has_weight ? static_cast<uint32_t>(norm.weight.size / sizeof(float)) : size;
  const NormParams params{.size = size,
                          .groups = groups,
                          .weight_size = weight_size,
                          .x_stride = StrideOf(x, columns),
                          .x_column = x.column,
                          .gate_stride = StrideOf(epilogue.gate, columns),
                          .gate_column = epilogue.gate.column,
                          .eps = norm.eps,
                          .offset = norm.offset};
  dispatcher.Run({"norm", constants, {groups, rows, 1}, simdgroups * kSimdWidth},
                 {x.view, norm.weight, norm.bias, epilogue.gate.view, epilogue.residual, out.view}, params);
}

}  // namespace anllm::metal
