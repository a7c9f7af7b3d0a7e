#include "chunk.h"

#include "../shared/activate.h"
#include "partial.h"

namespace anllm::ANLLM_ISA {
namespace {

constexpr int kKeyVectors = kKvBlock / 16;

template <bool kIsHalf>
constexpr int64_t kElementBytes = kIsHalf ? 2 : 4;

template <bool kIsHalf>
ANLLM_INLINE F32 LoadKv(const uint8_t* base, int64_t index) {
  if constexpr (kIsHalf) return LoadHalf(reinterpret_cast<const uint16_t*>(base) + index);
  return Load(reinterpret_cast<const float*>(base) + index);
}

/** The keys of a chunk that a tile sees, and where their blocks lie. */
struct ChunkKeys {
  const AttentionOp& op;
  const int32_t* table;
  int64_t kv_head;
  int64_t chunk_begin;
  KeyRange keys;
  int64_t visible_end;  // of the tile

  /** Index of the head's first element in block `position / kKvBlock`, for `size` elements a head. */
  ANLLM_INLINE int64_t Start(int64_t position, int64_t size) const {
    return (table[position / kKvBlock] * op.kv.kv_heads + kv_head) * size;
  }

  /** The head's keys, and its values, in the block of `position`. */
  template <bool kIsHalf>
  ANLLM_INLINE const uint8_t* KeysAt(int64_t position) const {
    return op.kv.keys + Start(position, op.kv.key_dim * kKvBlock) * kElementBytes<kIsHalf>;
  }
  template <bool kIsHalf>
  ANLLM_INLINE const uint8_t* ValuesAt(int64_t position) const {
    return op.kv.values + Start(position, kKvBlock * op.kv.value_stride) * kElementBytes<kIsHalf>;
  }

  // What is read after one block is asked for on the way through it: blocks lie anywhere, and the hardware's
  // own prefetching stops at their ends.

  /** Read after the keys of the block that ends before `after`. */
  template <bool kIsHalf>
  ANLLM_INLINE const uint8_t* NextOfKeys(int64_t after) const {
    return after < keys.end ? KeysAt<kIsHalf>(after) : ValuesAt<kIsHalf>(keys.begin);
  }
  /** Read after the values of the block that ends before `after`. */
  template <bool kIsHalf>
  ANLLM_INLINE const uint8_t* NextOfValues(int64_t after) const {
    if (after < keys.end) return ValuesAt<kIsHalf>(after);
    return KeysAt<kIsHalf>(Smaller(after, visible_end - 1));
  }
};

/** Asks for `bytes` of memory. */
ANLLM_INLINE void Prefetch(const uint8_t* p, int64_t bytes) {
  constexpr int64_t kLineBytes = 64;
  for (int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(p + i);
}

/** scores [kRows][kKvBlock at stride kKeyChunk] = q · the 32 keys of one block; asks for `next`. */
template <int kRows, bool kIsHalf>
void Score(const float* q, const uint8_t* keys, const uint8_t* next, int64_t dim, float* scores) {
  F32 sums[kRows][kKeyVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kKeyVectors; v++) sums[r][v] = Zero();
  }
  for (int64_t d = 0; d < dim; d++) {
    constexpr int64_t kStepBytes = kKvBlock * kElementBytes<kIsHalf>;
    Prefetch(next + d * kStepBytes, kStepBytes);
    F32 key[kKeyVectors];
    for (int v = 0; v < kKeyVectors; v++) key[v] = LoadKv<kIsHalf>(keys, d * kKvBlock + 16 * v);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++) {
      const F32 x = Set(q[r * dim + d]);
      for (int v = 0; v < kKeyVectors; v++) sums[r][v] = MulAdd(x, key[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kKeyVectors; v++) Store(scores + r * kKeyChunk + 16 * v, sums[r][v]);
  }
}

/**
 * Turns the scores of one row into weights e^(score - max), zero outside `seen` and up to the ends of the
 * tile's `keys`; both ranges count from the chunk's first key.
 */
void Softmax(const AttentionOp& op, KeyRange seen, KeyRange keys, float* scores, Partial part) {
  *part.max = kNoScore;
  *part.sum = 0.0f;
  F32 max = Set(kNoScore);
  const int64_t first = keys.begin / 16 * 16;
  for (int64_t i = first; i < keys.end; i += 16) {
    const F32 score = Softcap(Load(scores + i), op.softcap);
    const int begin = static_cast<int>(Smaller(16, Larger(0, seen.begin - i)));
    const int end = static_cast<int>(Smaller(16, Larger(0, seen.end - i)));
    const F32 kept = begin == 0 && end == 16 ? score : KeepRange(score, begin, end, kNoScore);
    Store(scores + i, kept);
    max = Max(kept, max);
  }
  if (seen.begin < seen.end) *part.max = Highest(max);
  F32 sum = Zero();
  for (int64_t i = first; i < keys.end; i += 16) {
    F32 weight = Exp(Load(scores + i) - Set(*part.max));
    const int begin = static_cast<int>(Smaller(16, Larger(0, seen.begin - i)));
    const int end = static_cast<int>(Smaller(16, Larger(0, seen.end - i)));
    if (begin != 0 || end != 16) weight = KeepRange(weight, begin, end, 0.0f);
    Store(scores + i, weight);
    sum = sum + weight;
  }
  *part.sum = Sum(sum);
}

/** out [kRows][16 * kVectors at stride `stride`] = weights · values over the keys, in their order. */
template <int kRows, int kVectors, bool kIsHalf>
void Mix(const ChunkKeys& chunk, const float* weights, int64_t column, float* out, int64_t stride) {
  const KvLayer& kv = chunk.op.kv;
  F32 sums[kRows][kVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) sums[r][v] = Zero();
  }
  for (int64_t position = chunk.keys.begin; position < chunk.keys.end;) {
    const int64_t block_begin = position / kKvBlock * kKvBlock;
    const int64_t end = Smaller(chunk.keys.end, block_begin + kKvBlock);
    const uint8_t* values = chunk.ValuesAt<kIsHalf>(position);
    const uint8_t* next = chunk.NextOfValues<kIsHalf>(block_begin + kKvBlock);
    for (; position < end; position++) {
      const int64_t start = (position - block_begin) * kv.value_stride + column;
      Prefetch(next + start * kElementBytes<kIsHalf>, 16 * kVectors * kElementBytes<kIsHalf>);
      F32 value[kVectors];
      for (int v = 0; v < kVectors; v++) value[v] = LoadKv<kIsHalf>(values, start + 16 * v);
      const float* weight = weights + position - chunk.chunk_begin;
      for (int r = 0; r < kRows; r++) {
        const F32 w = Set(weight[r * kKeyChunk]);
        for (int v = 0; v < kVectors; v++) sums[r][v] = MulAdd(w, value[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) Store(out + r * stride + 16 * v, sums[r][v]);
  }
}

template <bool kIsHalf>
void MixAll(const ChunkKeys& chunk, int64_t rows, const float* weights, float* partials) {
  const int64_t width = chunk.op.kv.value_stride;
  const int64_t stride = PartialFloats(width);
  ForGroups<kMixVectors>(width / 16, [&](int64_t vector, auto vectors) {
    ForGroups<kMixRows>(rows, [&](int64_t row, auto count) {
      Mix<count.value, vectors.value, kIsHalf>(chunk, weights + row * kKeyChunk, 16 * vector,
                                               partials + row * stride + 16 * vector, stride);
    });
  });
}

template <bool kIsHalf>
void ScoreAll(const ChunkKeys& chunk, int64_t rows, const float* q, float* scores) {
  const int64_t dim = chunk.op.kv.key_dim;
  for (int64_t begin = chunk.keys.begin / kKvBlock * kKvBlock; begin < chunk.keys.end; begin += kKvBlock) {
    const uint8_t* keys = chunk.KeysAt<kIsHalf>(begin);
    const uint8_t* next = chunk.NextOfKeys<kIsHalf>(begin + kKvBlock);
    ForGroups<kScoreRows>(rows, [&](int64_t row, auto count) {
      Score<count.value, kIsHalf>(q + row * dim, keys, next, dim,
                                  scores + row * kKeyChunk + begin - chunk.chunk_begin);
    });
  }
}

}  // namespace

void AttendChunk(const AttentionOp& op, const Step& step, const QueryTile& tile, int64_t chunk,
                 const float* q, float* scores, float* partials) {
  const KeyRange all = {chunk * kKeyChunk, (chunk + 1) * kKeyChunk};
  const KeyRange visible = VisibleKeys(op, step, tile);
  const ChunkKeys keys = {op,
                          step.block_tables + tile.sequence * step.blocks_per_sequence,
                          tile.kv_head,
                          all.begin,
                          Intersect(visible, all),
                          visible.end};
  const int64_t rows = tile.rows();
  op.kv.is_half ? ScoreAll<true>(keys, rows, q, scores) : ScoreAll<false>(keys, rows, q, scores);
  for (int64_t row = 0; row < rows; row++) {
    const int64_t position = step.positions[tile.first_token + row / tile.heads];
    const KeyRange seen = Intersect(VisibleKeys(op, position), all);
    Softmax(op, {seen.begin - all.begin, seen.end - all.begin},
            {keys.keys.begin - all.begin, keys.keys.end - all.begin}, scores + row * kKeyChunk,
            PartialAt(partials, row, op.kv.value_stride));
  }
  op.kv.is_half ? MixAll<true>(keys, rows, scores, partials) : MixAll<false>(keys, rows, scores, partials);
}

}  // namespace anllm::ANLLM_ISA
