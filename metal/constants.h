/** Function constants and the enumerations that they hold, shared by kernels and encoder. */
#pragma once

/**
 * id, name in kernels, name in the encoder. One meaning for all kernels; a kernel reads those that concern
 * it, the others are 0.
 */
#define ANLLM_CONSTANTS(X)                       \
  /* DType of the input and the output */        \
  X(0, kXType, x_type)                           \
  X(1, kOutType, out_type)                       \
  /* DType of a weight, or DTYPE_AFFINE */       \
  X(2, kWeightType, weight_type)                 \
  X(3, kBits, bits)                              \
  X(4, kGroupSize, group_size)                   \
  /* DType of scales and biases */               \
  X(5, kScaleType, scale_type)                   \
  /* NormKind */                                 \
  X(6, kNorm, norm)                              \
  X(7, kHasNormWeight, has_norm_weight)          \
  X(8, kHasNormBias, has_norm_bias)              \
  X(9, kHasBias, has_bias)                       \
  X(10, kHasResidual, has_residual)              \
  /* out = activation(gate row) * (up row) */    \
  X(11, kIsGlu, is_glu)                          \
  /* ActivationKind */                           \
  X(12, kActivation, activation)                 \
  /* Simdgroups of a threadgroup */              \
  X(13, kSimdgroups, simdgroups)                 \
  /* Simdgroups that share one output */         \
  X(14, kSplit, split)                           \
  X(15, kKeyDim, key_dim)                        \
  X(16, kValueDim, value_dim)                    \
  /* DType of keys and values */                 \
  X(17, kKvType, kv_type)                        \
  /* Query heads of one simdgroup */             \
  X(18, kHeadsPerSimdgroup, heads_per_simdgroup) \
  X(19, kHasWindow, has_window)                  \
  X(20, kHasSoftcap, has_softcap)                \
  X(21, kHasSinks, has_sinks)                    \
  /* RopeKind */                                 \
  X(22, kRope, rope)                             \
  X(23, kHasUp, has_up)                          \
  X(24, kHasQNorm, has_q_norm)                   \
  X(25, kHasKNorm, has_k_norm)                   \
  /* out = op * activation or sigmoid(gate) */   \
  X(26, kHasGate, has_gate)                      \
  X(27, kGateType, gate_type)                    \
  /* x is first joined to the residual stream */ \
  X(28, kHasJoin, has_join)                      \
  X(29, kHasJoinWeight, has_join_weight)         \
  /* Experts that every token has */             \
  X(30, kHasShared, has_shared)                  \
  /* ScoreKind of a router */                    \
  X(31, kScores, scores)                         \
  X(32, kHasCorrection, has_correction)          \
  /* GroupRank of a router */                    \
  X(33, kGroupRank, group_rank)                  \
  X(34, kIsNormalized, is_normalized)            \
  /* Slots are summed, not filled */             \
  X(35, kIsReduce, is_reduce)                    \
  /* Rows of the weight that one lane sums */    \
  X(36, kLaneRows, lane_rows)                    \
  /* Products of 4-bit numbers are halves */     \
  X(37, kIsHalf, is_half)

enum DType {
  DTYPE_F32 = 0,
  DTYPE_F16 = 1,
  DTYPE_BF16 = 2,
  DTYPE_AFFINE = 3,
  /** Of keys and values: see paging.h. */
  DTYPE_I8 = 4
};
enum NormKind { NORM_NONE = 0, NORM_RMS = 1, NORM_LAYER = 2 };
enum ActivationKind {
  ACTIVATION_NONE = 0,
  ACTIVATION_SILU = 1,
  ACTIVATION_GELU = 2,
  ACTIVATION_GELU_TANH = 3,
  ACTIVATION_RELU = 4,
  ACTIVATION_SIGMOID = 5,
  /** A function of gate and up: see `gated`. */
  ACTIVATION_SWIGLU_OAI = 6
};
/** How logits of a router become scores. */
enum ScoreKind { SCORES_SOFTMAX = 0, SCORES_SOFTMAX_OF_CHOSEN = 1, SCORES_SIGMOID = 2 };
/** What a group of experts ranks by, if only some groups may be chosen from. */
enum GroupRank { GROUPS_NONE = 0, GROUPS_MAX = 1, GROUPS_TOP2_SUM = 2 };
enum RopeKind { ROPE_NONE = 0, ROPE_HALF = 1, ROPE_INTERLEAVED = 2 };

#if defined(__METAL_VERSION__) || defined(ANLLM_KERNELS)

#include "msl.h"

#define ANLLM_DECLARE(id, name, field) FUNCTION_CONSTANT(uint, name, id);
ANLLM_CONSTANTS(ANLLM_DECLARE)
#undef ANLLM_DECLARE

#else

#include <cstddef>
#include <cstdint>

namespace anllm::metal {

/** Values of all function constants; field number = id. */
struct Constants {
#define ANLLM_DECLARE(id, name, field) uint32_t field = 0;
  ANLLM_CONSTANTS(ANLLM_DECLARE)
#undef ANLLM_DECLARE

  bool operator==(const Constants&) const = default;
};

#define ANLLM_DECLARE(id, name, field) static_assert(offsetof(Constants, field) == (id) * sizeof(uint32_t));
ANLLM_CONSTANTS(ANLLM_DECLARE)
#undef ANLLM_DECLARE

}  // namespace anllm::metal

#endif
