/**
 * Appends keys [T, kv_heads * key_dim] and values [T, kv_heads * value_dim] to the pool. The last shared_dim
 * columns of every key come from shared_key [T, shared_dim], and k is narrower by as many a head. Grid:
 * kv_heads * (key_dim + value_dim) / ELEMENT_THREADS, T.
 */
#include "paging.h"

KERNEL(kv_write, ELEMENT_THREADS)
(BUFFER(const uchar, k, 0), BUFFER(const uchar, v, 1), BUFFER(const uchar, shared_key, 2),
 BUFFER(const int, positions, 3), BUFFER(const int, sequence_of, 4), BUFFER(const int, block_tables, 5),
 BUFFER(uchar, keys, 6), BUFFER(uchar, values, 7), PARAMS(KvWriteParams, p, 8), GRID) {
  const uint row = group.y;
  const uint key_columns = p.kv_heads * p.key_dim;
  const uint value_columns = p.kv_heads * p.value_dim;
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= key_columns + value_columns) return;
  const bool is_key = column < key_columns;
  const uint dim = is_key ? p.key_dim : p.value_dim;
  const uint head = (is_key ? column : column - key_columns) / dim;
  const uint i = (is_key ? column : column - key_columns) % dim;
  const ulong slot = slot_offset(block_tables, p.blocks_per_sequence, uint(sequence_of[row]),
                                 uint(positions[row]), p.kv_heads, head, dim);
  if (!is_key) {
    store_slot(values, slot, i, load_value(v, kXType, row * value_columns + head * dim + i));
    return;
  }
  const uint own = p.key_dim - p.shared_dim;
  store_slot(keys, slot, i,
             i < own ? load_value(k, kXType, (row * p.kv_heads + head) * own + i)
                     : load_value(shared_key, kXType, row * p.shared_dim + i - own));
}
