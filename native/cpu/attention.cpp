#include "attention/chunk.h"
#include "attention/partial.h"
#include "ops.h"
#include "shared/activate.h"

namespace anllm::ANLLM_ISA {
namespace {

/**
 * How the query rows of a step are cut into tiles; heads of one key/value head stay together as far as they
 * fit.
 */
struct Tiling {
  int64_t heads;       // query heads of one key/value head
  int64_t tile_heads;  // of these, in a tile
  int64_t tile_tokens;
  int64_t head_tiles;  // tiles over all heads
  int64_t tiles;       // of the step

  Tiling(const AttentionOp& op, const Step& step)
      : heads(op.heads / op.kv.kv_heads),
        tile_heads(Smaller(heads, kQueryRows)),
        tile_tokens(kQueryRows / tile_heads),
        head_tiles(op.kv.kv_heads * CeilDivide(heads, tile_heads)),
        tiles(0) {
    for (int64_t s = 0; s < step.sequences; s++) tiles += TilesOf(step, s);
  }

  int64_t TilesOf(const Step& step, int64_t s) const {
    return CeilDivide(step.offsets[s + 1] - step.offsets[s], tile_tokens) * head_tiles;
  }

  QueryTile At(const Step& step, int64_t index) const {
    int64_t s = 0;
    for (; index >= TilesOf(step, s); s++) index -= TilesOf(step, s);
    const int64_t first = step.offsets[s] + index / head_tiles * tile_tokens;
    const int64_t per_kv_head = CeilDivide(heads, tile_heads);
    const int64_t kv_head = index % head_tiles / per_kv_head;
    const int64_t head = index % per_kv_head * tile_heads;
    return {s,
            first,
            Smaller(tile_tokens, step.offsets[s + 1] - first),
            kv_head,
            kv_head * heads + head,
            Smaller(tile_heads, heads - head)};
  }
};

struct ThreadMemory {
  float* q;
  float* scores;
  float* partials;
  float* next;
};

ThreadMemory MemoryOf(const AttentionOp& op, const Step& step, int thread) {
  float* q = reinterpret_cast<float*>(step.thread_scratch + thread * step.thread_scratch_bytes);
  float* scores = q + kQueryRows * op.kv.key_dim;
  float* partials = scores + kQueryRows * kKeyChunk;
  return {q, scores, partials, partials + kQueryRows * PartialFloats(op.kv.value_stride)};
}

/** q [rows, key_dim] = the tile's queries times the score scale. */
void LoadQueries(const AttentionOp& op, const QueryTile& tile, float* q) {
  const int64_t dim = op.kv.key_dim;
  for (int64_t row = 0; row < tile.rows(); row++) {
    const int64_t token = tile.first_token + row / tile.heads;
    const float* source = op.q + (token * op.heads + tile.first_head + row % tile.heads) * dim;
    ForVectors(dim, [&](int64_t i, int lanes) {
      StoreLanes(q + row * dim + i, LoadLanes(source + i, lanes) * Set(op.scale), lanes);
    });
  }
}

void MergeTile(const AttentionOp& op, const QueryTile& tile, float* into, float* next) {
  const int64_t stride = op.kv.value_stride;
  for (int64_t row = 0; row < tile.rows(); row++) {
    MergePartial(PartialAt(into, row, stride), PartialAt(next, row, stride), stride);
  }
}

/** out [value_dim] of a token's head times sigmoid of its gate. */
void ApplyGate(const AttentionOp& op, int64_t token, int64_t head, float* out) {
  const float* gate = op.gate.first + token * op.gate.stride + head * op.kv.value_dim;
  ForVectors(op.kv.value_dim, [&](int64_t i, int lanes) {
    const F32 open = ActivationOf(Activation::kSigmoid, LoadLanes(gate + i, lanes));
    StoreLanes(out + i, LoadLanes(out + i, lanes) * open, lanes);
  });
}

void FinishTile(const AttentionOp& op, const QueryTile& tile, float* partials) {
  for (int64_t row = 0; row < tile.rows(); row++) {
    const int64_t token = tile.first_token + row / tile.heads;
    const int64_t head = tile.first_head + row % tile.heads;
    float* out = op.out + (token * op.heads + head) * op.kv.value_dim;
    FinishPartial(PartialAt(partials, row, op.kv.value_stride), op.kv.value_dim,
                  op.sinks == nullptr ? nullptr : op.sinks + head, out);
    if (op.gate.first != nullptr) ApplyGate(op, token, head, out);
  }
}

int64_t FirstChunk(KeyRange keys) {
  return keys.begin / kKeyChunk;
}
int64_t ChunkCount(KeyRange keys) {
  return CeilDivide(keys.end, kKeyChunk) - FirstChunk(keys);
}

/** One task a tile. */
void AttendTiles(const AttentionOp& op, const Step& step, const Tiling& tiling) {
  For(step, tiling.tiles, [&](int64_t task, int thread) {
    // The last tiles of a sequence see the most keys; long tasks go first.
    const QueryTile tile = tiling.At(step, tiling.tiles - 1 - task);
    const ThreadMemory memory = MemoryOf(op, step, thread);
    LoadQueries(op, tile, memory.q);
    const KeyRange keys = VisibleKeys(op, step, tile);
    const int64_t first = FirstChunk(keys);
    AttendChunk(op, step, tile, first, memory.q, memory.scores, memory.partials);
    for (int64_t i = 1; i < ChunkCount(keys); i++) {
      AttendChunk(op, step, tile, first + i, memory.q, memory.scores, memory.next);
      MergeTile(op, tile, memory.partials, memory.next);
    }
    FinishTile(op, tile, memory.partials);
  });
}

/**
 * One task a tile and chunk, when there are fewer tiles than threads can use; same sums in the same order.
 */
void AttendChunks(const AttentionOp& op, const Step& step, const Tiling& tiling, int64_t max_chunks,
                  int64_t rows) {
  const int64_t part_floats = rows * PartialFloats(op.kv.value_stride);
  float* parts = reinterpret_cast<float*>(step.scratch);
  For(step, tiling.tiles * max_chunks, [&](int64_t task, int thread) {
    const QueryTile tile = tiling.At(step, task / max_chunks);
    const KeyRange keys = VisibleKeys(op, step, tile);
    if (task % max_chunks >= ChunkCount(keys)) return;
    const ThreadMemory memory = MemoryOf(op, step, thread);
    LoadQueries(op, tile, memory.q);
    AttendChunk(op, step, tile, FirstChunk(keys) + task % max_chunks, memory.q, memory.scores,
                parts + task * part_floats);
  });
  for (int64_t index = 0; index < tiling.tiles; index++) {
    const QueryTile tile = tiling.At(step, index);
    const int64_t chunks = ChunkCount(VisibleKeys(op, step, tile));
    float* part = parts + index * max_chunks * part_floats;
    for (int64_t i = 1; i < chunks; i++) MergeTile(op, tile, part, part + i * part_floats);
    FinishTile(op, tile, part);
  }
}

}  // namespace

void Attention(const AttentionOp& op, const Step& step) {
  const Tiling tiling(op, step);
  int64_t max_chunks = 0;
  int64_t max_rows = 0;
  if (tiling.tiles < 2 * step.threads) {
    for (int64_t index = 0; index < tiling.tiles; index++) {
      const QueryTile tile = tiling.At(step, index);
      max_chunks = Larger(max_chunks, ChunkCount(VisibleKeys(op, step, tile)));
      max_rows = Larger(max_rows, tile.rows());
    }
  }
  const int64_t part_bytes = max_rows * PartialFloats(op.kv.value_stride) * 4;
  const bool can_split = op.splits_keys && step.threads > 1 && max_chunks > 1;
  if (can_split && tiling.tiles * max_chunks * part_bytes <= kMaxPartialBytes) {
    AttendChunks(op, step, tiling, max_chunks, max_rows);
  } else {
    AttendTiles(op, step, tiling);
  }
}

}  // namespace anllm::ANLLM_ISA
