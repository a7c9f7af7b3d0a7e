/**
 * Appends keys [T, kv_heads * key_dim] and values [T, kv_heads * value_dim] to the pool. The last shared_dim
 * columns of every key come from shared_key [T, shared_dim], and k is narrower by as many a head. A simdgroup
 * takes 32 columns of a head. Grid: kv_heads * (key_dim + value_dim, each rounded up to 32) /
 * ELEMENT_THREADS, T.
 */
#include "paging.h"

KERNEL(kv_write, ELEMENT_THREADS)
(BUFFER(const uchar, k, 0), BUFFER(const uchar, v, 1), BUFFER(const uchar, shared_key, 2),
 BUFFER(const int, positions, 3), BUFFER(const int, sequence_of, 4), BUFFER(const int, block_tables, 5),
 BUFFER(uchar, keys, 6), BUFFER(uchar, values, 7), PARAMS(KvWriteParams, p, 8), GRID) {
  const uint row = group.y;
  const uint key_columns = code_groups(p.key_dim) * CODE_GROUP;
  const uint value_columns = code_groups(p.value_dim) * CODE_GROUP;
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  const uint first_value = p.kv_heads * key_columns;
  if (column >= first_value + p.kv_heads * value_columns) return;
  const bool is_key = column < first_value;
  const uint within = is_key ? column : column - first_value;
  const uint head = within / (is_key ? key_columns : value_columns);
  const uint i = within % (is_key ? key_columns : value_columns);
  const ulong slot = slot_row(block_tables, p.blocks_per_sequence, uint(sequence_of[row]),
                              uint(positions[row]), p.kv_heads, head);
  const uint unit = row * p.kv_heads + head;
  float value = 0.0f;
  if (!is_key) {
    if (i < p.value_dim) value = load_value(v, kXType, unit * p.value_dim + i);
    store_slot(values, slot, p.value_dim, i, value);
    return;
  }
  const uint own = p.key_dim - p.shared_dim;
  if (i < own) {
    value = load_value(k, kXType, unit * own + i);
  } else if (i < p.key_dim) {
    value = load_value(shared_key, kXType, row * p.shared_dim + i - own);
  }
  store_slot(keys, slot, p.key_dim, i, value);
}
