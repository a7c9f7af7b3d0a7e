/** The formats with super-blocks of 256 values, whose groups have scales that are themselves quantized. */
#include "gguf_blocks.h"
#include "half.h"

namespace anllm::weights {
namespace {

/** Code i of Q2_K's and Q3_K's 64 bytes of 2-bit codes: planes of 32 values in each half of a block. */
int TwoBits(const uint8_t* bytes, int i) {
  return bytes[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

/** Scale k of Q3_K: low nibbles in bytes 0 to 7, two high bits in bytes 8 to 11. */
int SixBitScale(const uint8_t* bytes, int k) {
  const int low = bytes[k % 8] >> (k < 8 ? 0 : 4) & 15;
  const int high = bytes[8 + k % 4] >> k / 4 * 2 & 3;
  return low | high << 4;
}

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

/** Group g of Q4_K and Q5_K; groups 4 to 7 have their high bits in the bytes of groups 0 to 3. */
ScaleAndMinimum ReadScale(const uint8_t* bytes, int g) {
  const int first = bytes[g % 4];
  const int second = bytes[4 + g % 4];
  if (g < 4) return {first & 63, second & 63};
  const int packed = bytes[8 + g % 4];
  return {(packed & 15) | first >> 6 << 4, packed >> 4 | second >> 6 << 4};
}

/** Scales of the 8 groups, and their nibbles: groups 2n and 2n + 1 are the low and high ones of 32 bytes. */
void ReadGroups(const uint8_t* block, const uint8_t* nibbles, CodeGroup* groups) {
  const float scale = ReadHalf(block);
  const float minimum = ReadHalf(block + 2);
  for (int g = 0; g < 8; g++) {
    const ScaleAndMinimum own = ReadScale(block + 4, g);
    groups[g].scale = scale * static_cast<float>(own.scale);
    groups[g].bias = -minimum * static_cast<float>(own.minimum);
    for (int i = 0; i < 32; i++) groups[g].codes[i] = nibbles[g / 2 * 32 + i] >> (g % 2 == 0 ? 0 : 4) & 15;
  }
}

}  // namespace

void DecodeQ2K(const uint8_t* block, FineGroup* groups) {
  const float scale = ReadHalf(block + 80);
  const float minimum = ReadHalf(block + 82);
  for (int g = 0; g < 16; g++) {
    groups[g].scale = scale * static_cast<float>(block[g] & 15);
    groups[g].bias = -minimum * static_cast<float>(block[g] >> 4);
  }
  for (int i = 0; i < 256; i++) groups[i / 16].codes[i % 16] = static_cast<uint8_t>(TwoBits(block + 16, i));
}

void DecodeQ3K(const uint8_t* block, FineGroup* groups) {
  const float scale = ReadHalf(block + 108);
  for (int g = 0; g < 16; g++) {
    groups[g].scale = scale * static_cast<float>(SixBitScale(block + 96, g) - 32);
    groups[g].bias = -4.0f * groups[g].scale;
  }
  for (int i = 0; i < 256; i++) {
    const int third = block[i % 32] >> i / 32 & 1;
    groups[i / 16].codes[i % 16] = static_cast<uint8_t>(TwoBits(block + 32, i) | third << 2);
  }
}

void DecodeQ4K(const uint8_t* block, CodeGroup* groups) {
  ReadGroups(block, block + 16, groups);
}

void DecodeQ5K(const uint8_t* block, CodeGroup* groups) {
  ReadGroups(block, block + 48, groups);
  for (int i = 0; i < 256; i++) {
    uint8_t& code = groups[i / 32].codes[i % 32];
    code = static_cast<uint8_t>(code | (block[16 + i % 32] >> i / 32 & 1) << 4);
  }
}

void DecodeQ6K(const uint8_t* block, FineGroup* groups) {
  const float scale = ReadHalf(block + 208);
  for (int g = 0; g < 16; g++) {
    groups[g].scale = scale * static_cast<float>(static_cast<int8_t>(block[192 + g]));
    groups[g].bias = -32.0f * groups[g].scale;
  }
  for (int i = 0; i < 256; i++) {
    const int in_half = i % 128;
    const int low = block[i / 128 * 64 + in_half % 64] >> (in_half < 64 ? 0 : 4) & 15;
    groups[i / 16].codes[i % 16] = static_cast<uint8_t>(low | TwoBits(block + 128, i) << 4);
  }
}

void DecodeIq4Xs(const uint8_t* block, CodeGroup* groups) {
  const float scale = ReadHalf(block);
  const int high = block[2] | block[3] << 8;
  for (int g = 0; g < 8; g++) {
    const int own = (block[4 + g / 2] >> g % 2 * 4 & 15) | (high >> 2 * g & 3) << 4;
    groups[g].scale = scale * static_cast<float>(own - 32);
    groups[g].bias = -128.0f * groups[g].scale;
    for (int i = 0; i < 32; i++) {
      const int code = block[8 + 16 * g + i % 16] >> (i < 16 ? 0 : 4) & 15;
      groups[g].codes[i] = static_cast<uint8_t>(kIq4Levels[code] + 128);
    }
  }
}

}  // namespace anllm::weights
