#include "pack_blocks.h"

namespace anllm::weights {
namespace {

/** Bytes of a word of each row, and columns whose codes it holds. */
constexpr int64_t kWordBytes = sizeof(Words);
constexpr int64_t kQuad = 4;

int64_t ScalarBytes(Float scalar) {
  return scalar == Float::kF32 ? 4 : 2;
}

int64_t CodesBytes(int64_t columns, Coding coding) {
  return columns * kBlockRows / (coding == Coding::kNibbles ? 2 : 1);
}

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

template <Coding kCoding, Float kScalar>
int64_t PackAs(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, uint8_t* target) {
  constexpr int64_t kScalarsBytes = kBlockRows * (kScalar == Float::kF32 ? 4 : 2);
  const Words* quads = blocks.quads;
  Words bad{};
  int64_t count = 0;
  for (int64_t g = 0; g < columns / group_size; g++) {
    for (int64_t c = 0; c < group_size; target += kWordBytes) {
      Words word = *quads++;
      if constexpr (kCoding == Coding::kNibbles) word = word | *quads++ << 4;
      std::memcpy(target, &word, sizeof(word));
      c += kCoding == Coding::kNibbles ? 2 * kQuad : kQuad;
    }
    const Words bad_scales = WriteScalars<kScalar>(blocks.scale[g], target);
    const Words bad_biases = WriteScalars<kScalar>(blocks.bias[g], target + kScalarsBytes);
    target += 2 * kScalarsBytes;
    const Words either = bad_scales | bad_biases;
    bad = bad | either;
    if (CountOnes(bad) > 0) count += CountOnes(either);
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

/** The values of column k of a quad. */
ANLLM_INLINE Floats Values(const Words& quad, int k, const Floats& scale, const Floats& bias) {
  return ToFloats(ByteOf(quad, k)) * scale + bias;
}

ANLLM_INLINE Floats Select(const Signed4 (&mask)[kVectors], const Floats& yes, const Floats& no) {
  return ForVectors<Floats>([&](int i) {
    const Signed4 bits =
        (mask[i] & reinterpret_cast<Signed4>(yes.v[i])) | (~mask[i] & reinterpret_cast<Signed4>(no.v[i]));
    return reinterpret_cast<Float4>(bits);
  });
}

/** One of the two in each lane: a where it is less than b. */
ANLLM_INLINE Floats Least(const Floats& a, const Floats& b) {
  Signed4 is_less[kVectors];
  for (int i = 0; i < kVectors; i++) is_less[i] = a.v[i] < b.v[i];
  return Select(is_less, a, b);
}
ANLLM_INLINE Floats Greatest(const Floats& a, const Floats& b) {
  Signed4 is_greater[kVectors];
  for (int i = 0; i < kVectors; i++) is_greater[i] = a.v[i] > b.v[i];
  return Select(is_greater, a, b);
}

ANLLM_INLINE Floats Inverse(const Floats& a) {
  return ForVectors<Floats>([&](int i) {
    const Unsigned4 bits = reinterpret_cast<Unsigned4>(a.v[i] > 0.0f);
    const Float4 inverse = 1.0f / a.v[i];
    const Unsigned4 kept = reinterpret_cast<Unsigned4>(inverse) & bits;
    return reinterpret_cast<Float4>(kept);
  });
}

ANLLM_INLINE Floats Every(float value) {
  return ForVectors<Floats>([&](int) { return Float4{value, value, value, value}; });
}

}  // namespace

int64_t GroupBytes(int64_t columns, Coding coding, Float scalar) {
  return CodesBytes(columns, coding) + 2 * kBlockRows * ScalarBytes(scalar);
}

int64_t PackGroups(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, Coding coding,
                   Float scalar, uint8_t* target) {
  return coding == Coding::kNibbles
             ? PackCoding<Coding::kNibbles>(blocks, columns, group_size, scalar, target)
             : PackCoding<Coding::kBytes>(blocks, columns, group_size, scalar, target);
}

int64_t PackFloats(const DecodedBlocks& blocks, int64_t columns, int64_t group_size, uint8_t* target) {
  int64_t bad = 0;
  for (int64_t c = 0; c < columns; c++, target += kWordBytes) {
    const int64_t g = c / group_size;
    const Floats values =
        Values(blocks.quads[c / kQuad], static_cast<int>(c % kQuad), blocks.scale[g], blocks.bias[g]);
    std::memcpy(target, &values, sizeof(values));
    bad += CountOnes(HasAll(BitsOf(values), 0x7f800000));
  }
  return bad;
}

void QuantizeToBytes(int64_t columns, DecodedBlocks* blocks) {
  for (int64_t g = 0; g < columns / kCodeGroup; g++) {
    Words* quads = blocks->quads + g * kCodeGroup / kQuad;
    Floats values[kCodeGroup];
    for (int64_t c = 0; c < kCodeGroup; c++) {
      const int64_t fine = 2 * g + c / kFineGroup;
      values[c] =
          Values(quads[c / kQuad], static_cast<int>(c % kQuad), blocks->scale[fine], blocks->bias[fine]);
    }
    Floats low = values[0];
    Floats high = values[0];
    for (const Floats& value : values) {
      low = Least(value, low);
      high = Greatest(value, high);
    }
    const Floats bias = WidenHalves(NarrowHalves(low));
    const Floats scale = WidenHalves(
        NarrowHalves(ForVectors<Floats>([&](int i) { return (high.v[i] - bias.v[i]) / 255.0f; })));
    const Floats inverse = Inverse(scale);
    for (int64_t q = 0; q < kCodeGroup / kQuad; q++) {
      quads[q] = Words{};
      for (int k = 0; k < kQuad; k++) {
        const Floats steps = (values[q * kQuad + k] - bias) * inverse;
        // The sum leaves the nearest whole number in the last places.
        const Floats sum = Least(Greatest(steps, Every(0.0f)), Every(255.0f)) + Every(0x1.8p23f);
        quads[q] = quads[q] | (BitsOf(sum) & 255) << 8 * k;
      }
    }
    blocks->scale[g] = scale;
    blocks->bias[g] = bias;
  }
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
