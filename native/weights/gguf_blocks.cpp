#include "gguf_blocks.h"

#include <cmath>

#include "../error.h"
#include "half.h"
#include "microscaled.h"

namespace anllm::weights {

const int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

namespace {

/** 32 codes of 4 bits in 16 bytes: low nibbles first. */
void ReadNibbles(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 16; i++) {
    codes[i] = bytes[i] & 15;
    codes[16 + i] = bytes[i] >> 4;
  }
}

/** Puts bit i of 4 bytes above the 4 bits of code i. */
void AddFifthBits(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 32; i++) codes[i] = static_cast<uint8_t>(codes[i] | (bytes[i / 8] >> i % 8 & 1) << 4);
}

void DecodeQ40(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = -8.0f * group->scale;
  ReadNibbles(block + 2, group->codes);
}

void DecodeQ41(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = ReadHalf(block + 2);
  ReadNibbles(block + 4, group->codes);
}

void DecodeQ50(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = -16.0f * group->scale;
  ReadNibbles(block + 6, group->codes);
  AddFifthBits(block + 2, group->codes);
}

void DecodeQ51(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = ReadHalf(block + 2);
  ReadNibbles(block + 8, group->codes);
  AddFifthBits(block + 4, group->codes);
}

/** Signed codes are stored with 128 added. */
void DecodeQ80(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = -128.0f * group->scale;
  for (int i = 0; i < 32; i++) group->codes[i] = block[2 + i] ^ 128;
}

void DecodeIq4Nl(const uint8_t* block, CodeGroup* group) {
  group->scale = ReadHalf(block);
  group->bias = -128.0f * group->scale;
  ReadNibbles(block + 2, group->codes);
  for (uint8_t& code : group->codes) code = static_cast<uint8_t>(kIq4Levels[code] + 128);
}

void DecodeMxfp4(const uint8_t* block, CodeGroup* group) {
  // Exponent 255 is NaN, which the packing of the scale refuses.
  group->scale = block[0] == 255 ? NAN : std::ldexp(1.0f, block[0] - 128);
  group->bias = -kE2m1Zero * group->scale;
  ReadNibbles(block + 1, group->codes);
  for (uint8_t& code : group->codes) code = kE2m1Steps[code];
}

// Float32 scales of the K formats are products of a half and six bits.
const BlockFormat kFormats[] = {
    {"Q4_0", 32, 18, 4, Float::kF16, DecodeQ40, nullptr},
    {"Q4_1", 32, 20, 4, Float::kF16, DecodeQ41, nullptr},
    {"Q5_0", 32, 22, 5, Float::kF16, DecodeQ50, nullptr},
    {"Q5_1", 32, 24, 5, Float::kF16, DecodeQ51, nullptr},
    {"Q8_0", 32, 34, 8, Float::kF16, DecodeQ80, nullptr},
    {"Q2_K", 256, 84, 2, Float::kF32, nullptr, DecodeQ2K},
    {"Q3_K", 256, 110, 3, Float::kF32, nullptr, DecodeQ3K},
    {"Q4_K", 256, 144, 4, Float::kF32, DecodeQ4K, nullptr},
    {"Q5_K", 256, 176, 5, Float::kF32, DecodeQ5K, nullptr},
    {"Q6_K", 256, 210, 6, Float::kF32, nullptr, DecodeQ6K},
    {"IQ4_NL", 32, 18, 8, Float::kF16, DecodeIq4Nl, nullptr},
    {"IQ4_XS", 256, 136, 8, Float::kF32, DecodeIq4Xs, nullptr},
    {"MXFP4", 32, 17, 5, Float::kBf16, DecodeMxfp4, nullptr},
};

}  // namespace

const BlockFormat& BlockFormatOf(const WeightSource& source) {
  for (const BlockFormat& format : kFormats) {
    if (source.format == format.name) return format;
  }
  throw Unsupported(source.tensor.file + ": " + source.tensor.name + ": got blocks of " + source.format +
                    ", which the native engine does not know");
}

void DecodeFineBlock(const BlockFormat& format, const uint8_t* block, float* values) {
  FineGroup groups[kMaxBlockColumns / kFineGroup];
  format.fine_groups(block, groups);
  for (int64_t c = 0; c < format.columns; c++) {
    const FineGroup& group = groups[c / kFineGroup];
    values[c] = static_cast<float>(group.codes[c % kFineGroup]) * group.scale + group.bias;
  }
}

}  // namespace anllm::weights
