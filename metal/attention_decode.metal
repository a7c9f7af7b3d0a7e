/** Attention of single rows whose keys and values are in the cache; decode.h has the grid. */
#include "decode_matrix.h"

KERNEL(attention_decode, 512)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, keys, 1), BUFFER(const uchar, values, 2),
 BUFFER(const int, rows, 3), BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5),
 BUFFER(const int, block_tables, 6), BUFFER(const float, sinks, 7), BUFFER(const uchar, gate, 8),
 BUFFER(uchar, out, 9), BUFFER(float, partials, 10), PARAMS(AttentionParams, p, 11),
 THREADGROUP_BUFFER(float, shared, 0), GRID) {
  Reader reader;
  reader.keys = keys;
  reader.values = values;
  reader.block_tables = block_tables;
  Share share;
  begin_share(share, reader, rows, positions, sequence_of, group, simd_index, p);
  ulong blocks[TILE_BLOCKS];
  find_blocks(reader, share.first_tile, p, blocks);
  UNROLL_BY_CONSTANT for (uint h = 0; h < kHeadsPerSimdgroup; h++) {
    const uint first = (share.row * p.heads + head_of(share, reader, h)) * kKeyDim;
    UNROLL_BY_CONSTANT for (uint i = 0; i < key_vectors(); i++) {
      const uint column = query_column(i, lane);
      if (kKeyDim % (key_lanes() * VECTOR) != 0 && column >= kKeyDim) break;
      float vector[VECTOR];
      load_values8(q, kXType, first + column, vector);
      set_query(reader, h, i, vector, p);
    }
  }
  attend_tiles(reader, share, blocks, lane, p);
  share_heads(reader, lane, own_part(shared, simd_index));
  finish_heads(reader, share, group.z, sinks, gate, out, partials, shared, lane, simd_index, p);
}

/** The same in matrices of halves (decode_matrix.h). */
KERNEL(attention_decode_matrix, 256)
(BUFFER(const uchar, q, 0), BUFFER(const uchar, keys, 1), BUFFER(const uchar, values, 2),
 BUFFER(const int, rows, 3), BUFFER(const int, positions, 4), BUFFER(const int, sequence_of, 5),
 BUFFER(const int, block_tables, 6), BUFFER(const float, sinks, 7), BUFFER(const uchar, gate, 8),
 BUFFER(uchar, out, 9), BUFFER(float, partials, 10), PARAMS(AttentionParams, p, 11),
 THREADGROUP_BUFFER(float, shared, 0), GRID) {
  Reader reader;
  reader.keys = keys;
  reader.values = values;
  reader.block_tables = block_tables;
  Share share;
  begin_share(share, reader, rows, positions, sequence_of, group, simd_index, p);
  ulong blocks[TILE_BLOCKS];
  find_blocks(reader, share.first_tile, p, blocks);
  simdgroup_matrix<half, 8, 8> queries[MAX_MATRICES];
  const uint first = (share.row * p.heads + head_of(share, reader, lane_head(lane))) * kKeyDim;
  UNROLL_BY_CONSTANT for (uint b = 0; b < kKeyDim; b += BLOCK_DIM) {
    UNROLL for (uint i = 0; i < 2; i++) {
      const uint column = b + (fragment_column(lane) + i) * VECTOR;
      float vector[VECTOR];
      load_values8(q, kXType, first + column, vector);
      set_elements(queries, column, i, vector);
    }
  }
  attend_in_matrices(queries, reader, share, blocks, lane, own_part(shared, simd_index), p);
  finish_heads(reader, share, group.z, sinks, gate, out, partials, shared, lane, simd_index, p);
}
