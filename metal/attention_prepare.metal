/**
 * From the first (heads + 2 kv_heads) * head_dim columns of qkv: norms q and k per head (or each as a whole),
 * rotates them, writes k and v to the pool and q to out [T, heads * head_dim]. One simdgroup a head. Grid:
 * (heads + 2 kv_heads) / kSimdgroups, T.
 */
#include "paging.h"
#include "rotate.h"

KERNEL(attention_prepare, 256)
(BUFFER(const uchar, qkv, 0), BUFFER(const float, q_norm_weight, 1), BUFFER(const float, q_norm_bias, 2),
 BUFFER(const float, k_norm_weight, 3), BUFFER(const float, k_norm_bias, 4),
 BUFFER(const uint2, frequencies, 5), BUFFER(const int, positions, 6), BUFFER(const int, sequence_of, 7),
 BUFFER(const int, block_tables, 8), BUFFER(uchar, out, 9), BUFFER(uchar, keys, 10),
 BUFFER(uchar, values, 11), PARAMS(AttentionPrepareParams, p, 12), GRID) {
  // Up to 8 simdgroups, one head each.
  THREADGROUP_ARRAY(float, staged, 8 * MAX_HEAD_DIM);
  const uint unit = group.x * kSimdgroups + simd_index;
  const uint units = p.heads + 2 * p.kv_heads;
  if (unit >= units) return;
  const uint row = group.y;
  const uint dim = p.head_dim;
  const uint first = row * p.qkv_stride + unit * dim;
  const bool is_query = unit < p.heads;
  const bool is_value = unit >= p.heads + p.kv_heads;
  const uint head = is_query ? unit : is_value ? unit - p.heads - p.kv_heads : unit - p.heads;

  // The norm of this head or of all of them; sums are taken for values too, so that no lane waits alone.
  const bool has_norm = !is_value && (is_query ? kHasQNorm : kHasKNorm);
  const uint norm_first = p.is_whole_row ? first - head * dim : first;
  const uint norm_size = p.is_whole_row ? dim * (is_query ? p.heads : p.kv_heads) : dim;
  float mean = 0.0f;
  if (kNorm == NORM_LAYER) {
    for (uint i = lane; i < norm_size; i += 32) mean += load_value(qkv, kXType, norm_first + i);
    mean = simd_sum(mean) / float(norm_size);
  }
  float squares = 0.0f;
  if (kNorm != NORM_NONE) {
    for (uint i = lane; i < norm_size; i += 32) {
      const float centred = load_value(qkv, kXType, norm_first + i) - mean;
      squares += centred * centred;
    }
    squares = simd_sum(squares);
  }
  const float inverse = rsqrt(squares / float(norm_size) + (is_query ? p.q_eps : p.k_eps));
  const float offset = is_query ? p.q_offset : p.k_offset;
  const uint shift = head * (is_query ? p.q_norm_stride : p.k_norm_stride);
  THREADGROUP(float) x = staged + simd_index * MAX_HEAD_DIM;
  for (uint i = lane; i < dim; i += 32) {
    float value = load_value(qkv, kXType, first + i);
    if (has_norm) {
      value = (value - mean) * inverse;
      if (kHasNormWeight) value *= (is_query ? q_norm_weight[shift + i] : k_norm_weight[shift + i]) + offset;
      if (kHasNormBias) value += is_query ? q_norm_bias[shift + i] : k_norm_bias[shift + i];
    }
    x[i] = value;
  }
  lanes_barrier();

  const uint position = uint(positions[row]);
  const ulong slot = slot_offset(block_tables, p.blocks_per_sequence, uint(sequence_of[row]), position,
                                 p.kv_heads, is_query ? 0 : head, dim);
  for (uint i = lane; i < dim; i += 32) {
    float value = x[i];
    if (kRope != ROPE_NONE && !is_value && i >= p.rope_start && i - p.rope_start < 2 * p.pairs) {
      Rotation rotation;
      rotation_of(i - p.rope_start, p.pairs, position, frequencies, p.rope_scale, rotation);
      value = value * rotation.cosine + x[p.rope_start + rotation.partner] * rotation.sine;
    }
    if (is_query) {
      store_value(out, kOutType, (row * p.heads + head) * dim + i, value);
    } else if (is_value) {
      store_slot(values, slot, i, value);
    } else {
      store_slot(keys, slot, i, value);
    }
  }
}
