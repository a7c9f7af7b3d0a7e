#include "gguf_blocks.h"

#include "../error.h"
#include "microscaled.h"

namespace anllm::weights {

namespace {

/** Values of the 16 codes of IQ4_NL and IQ4_XS. */
constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/** 32 codes of 4 bits in 16 bytes: low nibbles first. */
void ReadNibbles(const RowPointers& blocks, int64_t offset, DecodedBlocks* out) {
  Words words[4];
  LoadWords(blocks, offset, 4, words);
  SplitNibbles(words, 4, out->quads, out->quads + 4);
}

/** Puts bit i of 4 bytes above the 4 bits of code i. */
void AddFifthBits(const RowPointers& blocks, int64_t offset, DecodedBlocks* out) {
  const Words bits = LoadWord(blocks, offset);
  for (int q = 0; q < 8; q++) {
    const Words four = bits >> 4 * q & 15;
    const Words spread = four | four << 7 | four << 14 | four << 21;
    out->quads[q] = out->quads[q] | (spread & 0x01010101) << 4;
  }
}

/** A scale, and what the codes have too much. */
void ReadScale(const RowPointers& blocks, float zero, DecodedBlocks* out) {
  out->scale[0] = WidenHalves(LoadShorts(blocks, 0));
  out->bias[0] = out->scale[0] * -zero;
}

void ReadScaleAndBias(const RowPointers& blocks, DecodedBlocks* out) {
  out->scale[0] = WidenHalves(LoadShorts(blocks, 0));
  out->bias[0] = WidenHalves(LoadShorts(blocks, 2));
}

void DecodeQ40(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScale(blocks, 8.0f, out);
  ReadNibbles(blocks, 2, out);
}

void DecodeQ41(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScaleAndBias(blocks, out);
  ReadNibbles(blocks, 4, out);
}

void DecodeQ50(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScale(blocks, 16.0f, out);
  ReadNibbles(blocks, 6, out);
  AddFifthBits(blocks, 2, out);
}

void DecodeQ51(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScaleAndBias(blocks, out);
  ReadNibbles(blocks, 8, out);
  AddFifthBits(blocks, 4, out);
}

/** Signed codes are stored with 128 added. */
void DecodeQ80(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScale(blocks, 128.0f, out);
  LoadWords(blocks, 2, 8, out->quads);
  for (int q = 0; q < 8; q++) out->quads[q] = out->quads[q] ^ 0x80808080;
}

void DecodeIq4Nl(const RowPointers& blocks, DecodedBlocks* out) {
  ReadScale(blocks, 128.0f, out);
  ReadNibbles(blocks, 2, out);
  LookUpIq4(8, out->quads);
}

/** The bits of 2^(exponent - 128), half of what E8M0 says; 255 is NaN, which the packing of the scale
 * refuses. */
uint32_t HalfPower(uint8_t exponent) {
  if (exponent == 255) return 0x7fc00000;
  return exponent < 2 ? 0x200000u << exponent : (exponent - 1u) << 23;
}

void DecodeMxfp4(const RowPointers& blocks, DecodedBlocks* out) {
  uint32_t scales[kBlockRows];
  for (int i = 0; i < kBlockRows; i++) scales[i] = HalfPower(*blocks.row[i]);
  std::memcpy(&out->scale[0], scales, sizeof(scales));
  out->bias[0] = out->scale[0] * float{-kE2m1Zero};
  ReadNibbles(blocks, 1, out);
}

// Float32 scales of the K formats are products of a half and six bits.
const BlockFormat kFormats[] = {
    {"Q4_0", 32, 18, 32, Coding::kNibbles, 4, Float::kF16, DecodeQ40},
    {"Q4_1", 32, 20, 32, Coding::kNibbles, 4, Float::kF16, DecodeQ41},
    {"Q5_0", 32, 22, 32, Coding::kBytes, 5, Float::kF16, DecodeQ50},
    {"Q5_1", 32, 24, 32, Coding::kBytes, 5, Float::kF16, DecodeQ51},
    {"Q8_0", 32, 34, 32, Coding::kBytes, 8, Float::kF16, DecodeQ80},
    {"Q2_K", 256, 84, 16, Coding::kNibbles, 2, Float::kF32, DecodeQ2K},
    {"Q3_K", 256, 110, 16, Coding::kNibbles, 3, Float::kF32, DecodeQ3K},
    {"Q4_K", 256, 144, 32, Coding::kNibbles, 4, Float::kF32, DecodeQ4K},
    {"Q5_K", 256, 176, 32, Coding::kBytes, 5, Float::kF32, DecodeQ5K},
    {"Q6_K", 256, 210, 16, Coding::kSixBits, 6, Float::kF32, DecodeQ6K},
    {"IQ4_NL", 32, 18, 32, Coding::kBytes, 8, Float::kF16, DecodeIq4Nl},
    {"IQ4_XS", 256, 136, 32, Coding::kBytes, 8, Float::kF32, DecodeIq4Xs},
    {"MXFP4", 32, 17, 32, Coding::kE2m1, 5, Float::kBf16, DecodeMxfp4},
};

}  // namespace

void LookUpIq4(int count, Words* quads) {
  uint8_t bytes[sizeof(Words)];
  for (int q = 0; q < count; q++) {
    std::memcpy(bytes, &quads[q], sizeof(bytes));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(kIq4Levels[byte] + 128);
    std::memcpy(&quads[q], bytes, sizeof(bytes));
  }
}

const BlockFormat& BlockFormatOf(const WeightSource& source) {
  for (const BlockFormat& format : kFormats) {
    if (source.format == format.name) return format;
  }
  throw Unsupported(source.tensor.file + ": " + source.tensor.name + ": got blocks of " + source.format +
                    ", which the native engine does not know");
}

}  // namespace anllm::weights
