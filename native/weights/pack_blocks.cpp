#include "pack_blocks.h"

#include "../kernels/group_layout.h"

namespace anllm::weights {
namespace {

/** Columns whose codes a word has. */
constexpr int64_t kQuad = 4;
/** Quads that lie together. */
template <Coding kCoding>
constexpr int64_t kStepQuads = kCoding == Coding::kBytes     ? 1
                               : kCoding == Coding::kSixBits ? 4
                                                             : 2;

/** All ones where a word's bits in the mask are all set: where a float of that exponent is not finite. */
ANLLM_INLINE Words HasAll(const Words& bits, uint32_t mask) {
  return ForVectors<Words>([&](int i) { return reinterpret_cast<Unsigned4>((bits.v[i] & mask) == mask); });
}

int64_t CountOnes(const Words& mask) {
  uint32_t words[kBlockRows];
  std::memcpy(words, &mask, sizeof(words));
  int64_t count = 0;
  for (uint32_t word : words) count += word & 1;
  return count;
}

/** Writes 16 scalars; returns all ones where one is not finite. */
template <Float kScalar>
ANLLM_INLINE Words WriteScalars(const Floats& values, uint8_t* target) {
  if constexpr (kScalar == Float::kF32) {
    std::memcpy(target, &values, sizeof(values));
    return HasAll(BitsOf(values), 0x7f800000);
  }
  const Words bits = kScalar == Float::kF16 ? NarrowHalves(values) : BitsOf(values) >> 16;
  StoreHalves(bits, target);
  return HasAll(bits, kScalar == Float::kF16 ? 0x7c00 : 0x7f80);
}

/** The codes of the columns that one step of the layout holds; moves both pointers behind them. */
template <Coding kCoding>
ANLLM_INLINE void PackStep(const Words** quads, uint8_t** target) {
  const auto put = [&](const Words& word) {
    std::memcpy(*target, &word, sizeof(word));
    *target += sizeof(word);
  };
  const Words* q = *quads;
  *quads += kStepQuads<kCoding>;
  if constexpr (kCoding == Coding::kBytes) put(q[0]);
  if constexpr (kCoding == Coding::kNibbles || kCoding == Coding::kE2m1) put(q[0] | q[1] << 4);
  if constexpr (kCoding == Coding::kSixBits) {
    for (int i = 0; i < 4; i += 2) put((q[i] & 0x0f0f0f0f) | (q[i + 1] & 0x0f0f0f0f) << 4);
    const auto high = [&](int i) { return (q[i] >> 4 & 0x03030303) << 2 * i; };
    put(high(0) | high(1) | high(2) | high(3));
  }
}

template <Coding kCoding, Float kScalar>
int64_t PackAs(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, uint8_t* target) {
  constexpr int64_t kScalarsBytes = kBlockRows * (kScalar == Float::kF32 ? 4 : 2);
  const Words* quads = blocks.quads;
  int64_t count = 0;
  for (int64_t g = 0; g < columns / group_size; g++) {
    for (int64_t q = 0; q < group_size / kQuad; q += kStepQuads<kCoding>) PackStep<kCoding>(&quads, &target);
    Words bad = WriteScalars<kScalar>(blocks.scale[g], target);
    target += kScalarsBytes;
    if (ZeroOf(kCoding) == 0) {
      bad = bad | WriteScalars<kScalar>(blocks.bias[g], target);
      target += kScalarsBytes;
    }
    count += CountOnes(bad);
  }
  return count;
}

template <Coding kCoding>
int64_t PackCoding(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, Float scalar,
                   uint8_t* target) {
  switch (scalar) {
    case Float::kF32:
      return PackAs<kCoding, Float::kF32>(blocks, columns, group_size, target);
    case Float::kF16:
      return PackAs<kCoding, Float::kF16>(blocks, columns, group_size, target);
    case Float::kBf16:
      break;
  }
  return PackAs<kCoding, Float::kBf16>(blocks, columns, group_size, target);
}

}  // namespace

int64_t PackGroups(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, Coding coding,
                   Float scalar, uint8_t* target) {
  switch (coding) {
    case Coding::kNibbles:
      return PackCoding<Coding::kNibbles>(blocks, columns, group_size, scalar, target);
    case Coding::kE2m1:
      return PackCoding<Coding::kE2m1>(blocks, columns, group_size, scalar, target);
    case Coding::kSixBits:
      return PackCoding<Coding::kSixBits>(blocks, columns, group_size, scalar, target);
    case Coding::kBytes:
    case Coding::kFloats:
      break;
  }
  return PackCoding<Coding::kBytes>(blocks, columns, group_size, scalar, target);
}

int64_t PackScalars(const Floats& values, Float scalar, uint8_t* target) {
  switch (scalar) {
    case Float::kF32:
      return CountOnes(WriteScalars<Float::kF32>(values, target));
    case Float::kF16:
      return CountOnes(WriteScalars<Float::kF16>(values, target));
    case Float::kBf16:
      break;
  }
  return CountOnes(WriteScalars<Float::kBf16>(values, target));
}

void ClearRows(int64_t count, int64_t columns, int64_t group_size, DecodedBlocks* blocks) {
  const auto clear = [&](void* lanes) {
    std::memset(static_cast<uint32_t*>(lanes) + count, 0, static_cast<size_t>(kBlockRows - count) * 4);
  };
  for (int64_t q = 0; q < columns / kQuad; q++) clear(&blocks->quads[q]);
  for (int64_t g = 0; g < columns / group_size; g++) {
    clear(&blocks->scale[g]);
    clear(&blocks->bias[g]);
  }
}

}  // namespace anllm::weights
