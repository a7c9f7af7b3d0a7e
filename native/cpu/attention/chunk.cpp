#include "chunk.h"

#include "../shared/activate.h"
#include "partial.h"

namespace anllm::ANLLM_ISA {
namespace {

static_assert(kKvBlock % (16 * kScoreVectors) == 0);

template <KvFormat kFormat>
constexpr int64_t kElementBytes = kFormat == KvFormat::kFloat  ? 4
                                  : kFormat == KvFormat::kHalf ? 2
                                                               : 1;

/** 16 elements, of kInt8 their codes. */
template <KvFormat kFormat>
ANLLM_INLINE F32 LoadKv(const uint8_t* base, int64_t index) {
  if constexpr (kFormat == KvFormat::kInt8) return LoadBytes(reinterpret_cast<const int8_t*>(base) + index);
  if constexpr (kFormat == KvFormat::kHalf) return LoadHalf(reinterpret_cast<const uint16_t*>(base) + index);
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

  /** The head's keys, and its values, in the block of `position`. */
  ANLLM_INLINE const uint8_t* KeysAt(int64_t position) const {
    return op.kv.keys + Head(position) * KeyBytes(op.kv);
  }
  ANLLM_INLINE const uint8_t* ValuesAt(int64_t position) const {
    return op.kv.values + Head(position) * ValueBytes(op.kv);
  }

  // What is read after one block is asked for on the way through it: blocks lie anywhere, and the hardware's
  // own prefetching stops at their ends.

  /** Read after the keys of the block that ends before `after`. */
  ANLLM_INLINE const uint8_t* NextOfKeys(int64_t after) const {
    return after < keys.end ? KeysAt(after) : ValuesAt(keys.begin);
  }
  /** Read after the values of the block that ends before `after`. */
  ANLLM_INLINE const uint8_t* NextOfValues(int64_t after) const {
    return after < keys.end ? ValuesAt(after) : KeysAt(Smaller(after, visible_end - 1));
  }

 private:
  /** Number of the head among those of all blocks. */
  ANLLM_INLINE int64_t Head(int64_t position) const {
    return table[position / kKvBlock] * op.kv.kv_heads + kv_head;
  }
};

/** Asks for `bytes` of memory. */
ANLLM_INLINE void Prefetch(const uint8_t* p, int64_t bytes) {
  constexpr int64_t kLineBytes = 64;
  for (int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(p + i);
}

/** scores [kRows][16 * kVectors at stride kKeyChunk] = q · so many keys of a block; asks for `next`. */
template <int kRows, int kVectors, KvFormat kFormat>
void Score(const float* q, const uint8_t* keys, int64_t first, const uint8_t* next, int64_t dim,
           float* scores) {
  constexpr bool kHasScales = kFormat == KvFormat::kInt8;
  const float* scales = reinterpret_cast<const float*>(keys + dim * kKvBlock);
  F32 sums[kRows][kVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) sums[r][v] = Zero();
  }
  F32 scale[kVectors];
  for (int64_t d = 0; d < dim; d++) {
    constexpr int64_t kStepBytes = kKvBlock * kElementBytes<kFormat>;
    Prefetch(next + d * kStepBytes, kStepBytes);
    F32 key[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; v++) {
      key[v] = LoadKv<kFormat>(keys, d * kKvBlock + first + 16 * v);
      if constexpr (kHasScales) {
        if (d % kKvGroup == 0) scale[v] = Load(scales + d / kKvGroup * kKvBlock + first + 16 * v);
        key[v] = key[v] * scale[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++) {
      const F32 x = Set(q[r * dim + d]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; v++) sums[r][v] = MulAdd(x, key[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) Store(scores + r * kKeyChunk + 16 * v, sums[r][v]);
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
template <int kRows, int kVectors, KvFormat kFormat>
void Mix(const ChunkKeys& chunk, const float* weights, int64_t column, float* out, int64_t stride) {
  const KvLayer& kv = chunk.op.kv;
  F32 sums[kRows][kVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) sums[r][v] = Zero();
  }
  for (int64_t position = chunk.keys.begin; position < chunk.keys.end;) {
    const int64_t block_begin = position / kKvBlock * kKvBlock;
    const int64_t end = Smaller(chunk.keys.end, block_begin + kKvBlock);
    const uint8_t* values = chunk.ValuesAt(position);
    const uint8_t* next = chunk.NextOfValues(block_begin + kKvBlock);
    const float* scales = reinterpret_cast<const float*>(values + kKvBlock * kv.value_stride);
    for (; position < end; position++) {
      const int64_t token = position - block_begin;
      const int64_t start = token * kv.value_stride + column;
      Prefetch(next + start * kElementBytes<kFormat>, 16 * kVectors * kElementBytes<kFormat>);
      F32 value[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; v++) {
        value[v] = LoadKv<kFormat>(values, start + 16 * v);
        if constexpr (kFormat == KvFormat::kInt8) {
          value[v] = value[v] * Set(scales[token * KvGroups(kv.value_stride) + (column + 16 * v) / kKvGroup]);
        }
      }
      const float* weight = weights + position - chunk.chunk_begin;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; r++) {
        const F32 w = Set(weight[r * kKeyChunk]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; v++) sums[r][v] = MulAdd(w, value[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) Store(out + r * stride + 16 * v, sums[r][v]);
  }
}

template <KvFormat kFormat>
void MixAll(const ChunkKeys& chunk, int64_t rows, const float* weights, float* partials) {
  const int64_t width = chunk.op.kv.value_stride;
  const int64_t stride = PartialFloats(width);
  ForGroups<kMixVectors>(width / 16, [&](int64_t vector, auto vectors) {
    ForGroups<kMixRows>(rows, [&](int64_t row, auto count) {
      Mix<count.value, vectors.value, kFormat>(chunk, weights + row * kKeyChunk, 16 * vector,
                                               partials + row * stride + 16 * vector, stride);
    });
  });
}

template <KvFormat kFormat>
void ScoreAll(const ChunkKeys& chunk, int64_t rows, const float* q, float* scores) {
  const int64_t dim = chunk.op.kv.key_dim;
  for (int64_t begin = chunk.keys.begin / kKvBlock * kKvBlock; begin < chunk.keys.end; begin += kKvBlock) {
    const uint8_t* keys = chunk.KeysAt(begin);
    const uint8_t* next = chunk.NextOfKeys(begin + kKvBlock);
    ForGroups<kScoreRows>(rows, [&](int64_t row, auto count) {
      float* out = scores + row * kKeyChunk + begin - chunk.chunk_begin;
      for (int64_t i = 0; i < kKvBlock; i += 16 * kScoreVectors) {
        Score<count.value, kScoreVectors, kFormat>(q + row * dim, keys, i, next, dim, out + i);
      }
    });
  }
}

template <KvFormat kFormat>
void AttendIn(const ChunkKeys& keys, const Step& step, const QueryTile& tile, const float* q, float* scores,
              float* partials) {
  const AttentionOp& op = keys.op;
  const KeyRange all = {keys.chunk_begin, keys.chunk_begin + kKeyChunk};
  const int64_t rows = tile.rows();
  ScoreAll<kFormat>(keys, rows, q, scores);
  for (int64_t row = 0; row < rows; row++) {
    const int64_t position = step.positions[tile.first_token + row / tile.heads];
    const KeyRange seen = Intersect(VisibleKeys(op, position), all);
    Softmax(op, {seen.begin - all.begin, seen.end - all.begin},
            {keys.keys.begin - all.begin, keys.keys.end - all.begin}, scores + row * kKeyChunk,
            PartialAt(partials, row, op.kv.value_stride));
  }
  MixAll<kFormat>(keys, rows, scores, partials);
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
  switch (op.kv.format) {
    case KvFormat::kFloat:
      return AttendIn<KvFormat::kFloat>(keys, step, tile, q, scores, partials);
    case KvFormat::kHalf:
      return AttendIn<KvFormat::kHalf>(keys, step, tile, q, scores, partials);
    case KvFormat::kInt8:
      return AttendIn<KvFormat::kInt8>(keys, step, tile, q, scores, partials);
  }
}

}  // namespace anllm::ANLLM_ISA
