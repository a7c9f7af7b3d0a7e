/**
 * From the first (heads + 2 kv_heads) * head_dim columns of qkv: norms q and k per head (or each as a whole),
 * rotates them, writes k and v to the pool and q to out [T, heads * head_dim]. One simdgroup a head. Grid:
 * (heads + 2 kv_heads) / kSimdgroups, T.
 */
#include "prepare.h"

KERNEL(attention_prepare, 256)
(BUFFER(const uchar, qkv, 0), BUFFER(const float, q_norm_weight, 1), BUFFER(const float, q_norm_bias, 2),
 BUFFER(const float, k_norm_weight, 3), BUFFER(const float, k_norm_bias, 4),
 BUFFER(const uint2, frequencies, 5), BUFFER(const int, positions, 6), BUFFER(const int, sequence_of, 7),
 BUFFER(const int, block_tables, 8), BUFFER(uchar, out, 9), BUFFER(uchar, keys, 10),
 BUFFER(uchar, values, 11), PARAMS(AttentionPrepareParams, p, 12), GRID) {
  // Up to 8 simdgroups, one head each.
  THREADGROUP_ARRAY(float, staged, 8 * MAX_HEAD_DIM);
  const uint unit = group.x * kSimdgroups + simd_index;
  if (unit >= p.heads + 2 * p.kv_heads) return;
  const uint part = unit < p.heads ? PART_QUERY : unit < p.heads + p.kv_heads ? PART_KEY : PART_VALUE;
  const uint head = part == PART_QUERY ? unit : (unit - p.heads) % p.kv_heads;
  Heads heads;
  heads.qkv = qkv;
  heads.q_norm_weight = q_norm_weight;
  heads.q_norm_bias = q_norm_bias;
  heads.k_norm_weight = k_norm_weight;
  heads.k_norm_bias = k_norm_bias;
  heads.frequencies = frequencies;
  heads.row = group.y;
  heads.position = uint(positions[group.y]);
  THREADGROUP(float) x = staged + simd_index * MAX_HEAD_DIM;
  stage_head(heads, part, head, x, lane, p);
  if (part != PART_QUERY) {
    DEVICE(uchar) pool = keys;
    if (part == PART_VALUE) pool = values;
    store_head(heads, part, head, uint(sequence_of[group.y]), block_tables, pool, x, lane, p);
    return;
  }
  for (uint i = lane; i < p.head_dim; i += 32) {
    store_value(out, kOutType, (group.y * p.heads + head) * p.head_dim + i, rotated(heads, part, i, x, p));
  }
}
