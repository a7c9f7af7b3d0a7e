/** From requests to the operands of native/metal/operands.h. */
#pragma once

#include "../../../native/metal/operands.h"
#include "request.h"

namespace anllm::runner {

/** Buffer `name` and number `name_type`. */
metal::Values ValuesOf(const Request& request, const std::string& name);
/** Buffers weight, scales, biases; numbers weight_rows, weight_columns, weight_type, bits, group_size,
 * scale_type. */
metal::Matrix MatrixOf(const Request& request);
/** Buffers PREFIX_weight, PREFIX_bias; numbers PREFIX_kind, PREFIX_eps, PREFIX_offset. */
metal::NormOperand NormOf(const Request& request, const std::string& prefix);
metal::LinearOperand LinearOf(const Request& request);
metal::AttentionOperand AttentionOf(const Request& request);
metal::RopeOperand RopeOf(const Request& request);
/** Norms q_norm and k_norm, a rope, qkv; numbers heads, is_whole_row. */
metal::PrepareOperand PrepareOf(const Request& request);
metal::KvLayerOperand KvLayerOf(const Request& request);
metal::StepOperand StepOf(const Request& request);
/** Buffers inputs, matrices; numbers key_heads, value_heads, key_dim, value_dim, taps, tiled. */
metal::StateLayerOperand StateLayerOf(const Request& request);

}  // namespace anllm::runner
