/** Attention of a query tile over one chunk of keys. */
#pragma once

#include "query_tile.h"

namespace anllm::ANLLM_ISA {

/**
 * Fills `partials` (one for each row of the tile) for the keys [chunk * kKeyChunk, (chunk + 1) * kKeyChunk).
 * q [rows, key_dim] is scaled already; scores [rows, kKeyChunk] is working memory.
 */
void AttendChunk(const AttentionOp& op, const Step& step, const QueryTile& tile, int64_t chunk,
                 const float* q, float* scores, float* partials);

}  // namespace anllm::ANLLM_ISA
