/**
 * Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434) before the attention itself: kv
 * holds every head's key columns without the shared ones, then every head's values; rotates the ends of
 * queries and the shared key, writes keys and values to the pool and q to out [T, heads * key_dim]. A
 * simdgroup takes 32 columns of a head. Grid: heads * (2 key_dim + value_dim, each rounded up to 32) /
 * ELEMENT_THREADS, T.
 */
#include "paging.h"
#include "rotate.h"

KERNEL(latent_prepare, ELEMENT_THREADS)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, kv, 1), BUFFER(const uchar, shared_key, 2),
 BUFFER(const uint2, frequencies, 3), BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5),
 BUFFER(const int, block_tables, 6), BUFFER(uchar, out, 7), BUFFER(uchar, keys, 8), BUFFER(uchar, values, 9),
 PARAMS(LatentPrepareParams, p, 10), GRID) {
  const uint row = group.y;
  const uint key_columns = code_groups(p.key_dim) * CODE_GROUP;
  const uint head_columns = 2 * key_columns + code_groups(p.value_dim) * CODE_GROUP;
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= p.heads * head_columns) return;
  const uint head = column / head_columns;
  const uint within = column % head_columns;
  const uint position = uint(positions[row]);
  const uint sequence = uint(sequence_of[row]);
  const uint own = p.rope_start;
  const uint kv_first = row * p.heads * (own + p.value_dim);

  const ulong slot = slot_row(block_tables, p.blocks_per_sequence, sequence, position, p.heads, head);

  if (within >= 2 * key_columns) {
    const uint i = within - 2 * key_columns;
    const uint first = kv_first + p.heads * own + head * p.value_dim;
    store_slot(values, slot, p.value_dim, i, i < p.value_dim ? load_value(kv, kXType, first + i) : 0.0f);
    return;
  }
  const bool is_query = within < key_columns;
  const uint i = is_query ? within : within - key_columns;
  // First element of the part that turns.
  const uint turning = is_query ? row * p.q_stride + p.q_column + head * p.key_dim + own
                                : row * p.shared_stride + p.shared_column;
  float value = 0.0f;
  if (i < own) {
    value = is_query ? load_value(q, kXType, turning - own + i)
                     : load_value(kv, kXType, kv_first + head * own + i);
  } else if (i < p.key_dim) {
    DEVICE(const uchar) source = q;
    if (!is_query) source = shared_key;
    value = load_value(source, kXType, turning + i - own);
    if (i - own < 2 * p.pairs) {
      Rotation rotation;
      rotation_of(i - own, p.pairs, position, frequencies, p.rope_scale, rotation);
      value =
          value * rotation.cosine + load_value(source, kXType, turning + rotation.partner) * rotation.sine;
    }
  }
  if (!is_query) {
    store_slot(keys, slot, p.key_dim, i, value);
  } else if (i < p.key_dim) {
    store_value(out, kOutType, (row * p.heads + head) * p.key_dim + i, value);
  }
}
