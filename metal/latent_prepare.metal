/**
 * Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434) before the attention itself: kv
 * holds every head's key columns without the shared ones, then every head's values; rotates the ends of
 * queries and the shared key, writes keys and values to the pool and q to out [T, heads * key_dim]. Grid:
 * heads * (2 key_dim + value_dim) / ELEMENT_THREADS, T.
 */
#include "paging.h"
#include "rotate.h"

KERNEL(latent_prepare, ELEMENT_THREADS)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, kv, 1), BUFFER(const uchar, shared_key, 2),
 BUFFER(const uint2, frequencies, 3), BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5),
 BUFFER(const int, block_tables, 6), BUFFER(uchar, out, 7), BUFFER(uchar, keys, 8), BUFFER(uchar, values, 9),
 PARAMS(LatentPrepareParams, p, 10), GRID) {
  const uint row = group.y;
  const uint head_columns = 2 * p.key_dim + p.value_dim;
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= p.heads * head_columns) return;
  const uint head = column / head_columns;
  const uint within = column % head_columns;
  const uint position = uint(positions[row]);
  const uint sequence = uint(sequence_of[row]);
  const uint own = p.rope_start;
  const uint kv_first = row * p.heads * (own + p.value_dim);

  if (within >= 2 * p.key_dim) {
    const uint i = within - 2 * p.key_dim;
    const ulong slot =
        slot_offset(block_tables, p.blocks_per_sequence, sequence, position, p.heads, head, p.value_dim);
    store_slot(values, slot, i, load_value(kv, kXType, kv_first + p.heads * own + head * p.value_dim + i));
    return;
  }
  const bool is_query = within < p.key_dim;
  const uint i = is_query ? within : within - p.key_dim;
  // First element of the part that turns.
  const uint turning = is_query ? row * p.q_stride + p.q_column + head * p.key_dim + own
                                : row * p.shared_stride + p.shared_column;
  float value;
  if (i < own) {
    value = is_query ? load_value(q, kXType, turning - own + i)
                     : load_value(kv, kXType, kv_first + head * own + i);
  } else {
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
  if (is_query) {
    store_value(out, kOutType, (row * p.heads + head) * p.key_dim + i, value);
  } else {
    const ulong slot =
        slot_offset(block_tables, p.blocks_per_sequence, sequence, position, p.heads, head, p.key_dim);
    store_slot(keys, slot, i, value);
  }
}
