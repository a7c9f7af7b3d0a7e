/**
 * attention_prepare and attention_decode in one, where every sequence has one row: the threadgroup that reads
 * the last keys writes the row's own key and value first, and all rotate their queries themselves. decode.h
 * has the grid, where one threadgroup has all heads of a key/value head.
 */
#include "decode_matrix.h"
#include "prepare.h"

/** The row's heads; the simdgroups of the threadgroup with the last keys write its own key and value. */
inline void begin_heads(thread Heads& heads, const thread Share& share, const thread Reader& reader,
                        uint3 group, DEVICE(const int) block_tables, DEVICE(uchar) keys, DEVICE(uchar) values,
                        THREADGROUP(float) staged, uint lane, uint simd_index,
                        constant AttentionAppendParams& p) {
  heads.row = share.row;
  heads.position = reader.position;
  const uint parts = p.attention.splits * kSplit;
  const uint last_part = (reader.position / TILE_KEYS - reader.first / TILE_KEYS) % parts;
  if (group.z != last_part / kSplit) return;
  for (uint part = PART_KEY; part <= PART_VALUE; part++) {
    if (part % kSimdgroups != simd_index) continue;
    stage_head(heads, part, reader.kv_head, staged, lane, p.prepare);
    DEVICE(uchar) pool = keys;
    if (part == PART_VALUE) pool = values;
    store_head(heads, part, reader.kv_head, reader.sequence, block_tables, pool, staged, lane, p.prepare);
  }
  group_device_barrier();
}

KERNEL(attention_append, 512)
(BUFFER(const uchar, qkv, 0), BUFFER(uchar, keys, 1), BUFFER(uchar, values, 2), BUFFER(const int, rows, 3),
 BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5), BUFFER(const int, block_tables, 6),
 BUFFER(const float, sinks, 7), BUFFER(const uchar, gate, 8), BUFFER(uchar, out, 9),
 BUFFER(float, partials, 10), BUFFER(const float, q_norm_weight, 11), BUFFER(const float, q_norm_bias, 12),
 BUFFER(const float, k_norm_weight, 13), BUFFER(const float, k_norm_bias, 14),
 BUFFER(const uint2, frequencies, 15), PARAMS(AttentionAppendParams, p, 16),
 THREADGROUP_BUFFER(float, shared, 0), GRID) {
  Reader reader;
  reader.keys = keys;
  reader.values = values;
  reader.block_tables = block_tables;
  Share share;
  begin_share(share, reader, rows, positions, sequence_of, group, simd_index, p.attention);
  ulong blocks[TILE_BLOCKS];
  find_blocks(reader, share.first_tile, p.attention, blocks);
  Heads heads = {qkv, q_norm_weight, q_norm_bias, k_norm_weight, k_norm_bias, frequencies, 0, 0};
  THREADGROUP(float) staged = own_part(shared, simd_index);
  begin_heads(heads, share, reader, group, block_tables, keys, values, staged, lane, simd_index, p);
  UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    stage_head(heads, PART_QUERY, head_of(share, reader, h), staged, lane, p.prepare);
    UNROLL_BY_CONSTANT for (uint i = 0; i < key_vectors(); i++) {
      const uint column = query_column(i, lane);
      if (kKeyDim % (key_lanes() * VECTOR) != 0 && column >= kKeyDim) break;
      float vector[VECTOR];
      UNROLL for (uint e = 0; e < VECTOR; e++) {
        // As precise as a query that attention_prepare leaves.
        const float value = rotated(heads, PART_QUERY, column + e, staged, p.prepare);
        vector[e] = kXType == DTYPE_F16 ? float(half(value)) : value;
      }
      set_query(reader, h, i, vector, p.attention);
    }
  }
  attend_tiles(reader, share, blocks, lane, p.attention);
  // A simdgroup's sums lie where its queries were.
  lanes_barrier();
  share_heads(reader, lane, staged);
  finish_heads(reader, share, group.z, sinks, gate, out, partials, shared, lane, simd_index, p.attention);
}

/** The same in matrices of halves (decode_matrix.h). */
KERNEL(attention_append_matrix, 256)
(BUFFER(const uchar, qkv, 0), BUFFER(uchar, keys, 1), BUFFER(uchar, values, 2), BUFFER(const int, rows, 3),
 BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5), BUFFER(const int, block_tables, 6),
 BUFFER(const float, sinks, 7), BUFFER(const uchar, gate, 8), BUFFER(uchar, out, 9),
 BUFFER(float, partials, 10), BUFFER(const float, q_norm_weight, 11), BUFFER(const float, q_norm_bias, 12),
 BUFFER(const float, k_norm_weight, 13), BUFFER(const float, k_norm_bias, 14),
 BUFFER(const uint2, frequencies, 15), PARAMS(AttentionAppendParams, p, 16),
 THREADGROUP_BUFFER(float, shared, 0), GRID) {
  Reader reader;
  reader.keys = keys;
  reader.values = values;
  reader.block_tables = block_tables;
  Share share;
  begin_share(share, reader, rows, positions, sequence_of, group, simd_index, p.attention);
  ulong blocks[TILE_BLOCKS];
  find_blocks(reader, share.first_tile, p.attention, blocks);
  Heads heads = {qkv, q_norm_weight, q_norm_bias, k_norm_weight, k_norm_bias, frequencies, 0, 0};
  THREADGROUP(float) staged = own_part(shared, simd_index);
  begin_heads(heads, share, reader, group, block_tables, keys, values, staged, lane, simd_index, p);
  simdgroup_matrix<half, 8, 8> queries[MAX_MATRICES];
  for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    stage_head(heads, PART_QUERY, head_of(share, reader, h), staged, lane, p.prepare);
    rotate_staged(heads, PART_QUERY, staged, lane, p.prepare);
    if (lane_head(lane) != h) continue;
    UNROLL_BY_CONSTANT for (uint b = 0; b < kKeyDim; b += BLOCK_DIM) {
      UNROLL for (uint i = 0; i < 2; i++) {
        const uint column = b + (fragment_column(lane) + i) * VECTOR;
        float vector[VECTOR];
        UNROLL for (uint e = 0; e < VECTOR; e++) vector[e] = staged[column + e];
        set_elements(queries, column, i, vector);
      }
    }
  }
  attend_in_matrices(queries, reader, share, blocks, lane, staged, p.attention);
  finish_heads(reader, share, group.z, sinks, gate, out, partials, shared, lane, simd_index, p.attention);
}
