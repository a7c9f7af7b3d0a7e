/** The formats with super-blocks of 256 values, whose groups have scales that are themselves quantized. */
#include "gguf_blocks.h"

namespace anllm::weights {
namespace {

/**
 * Q2_K's, Q3_K's and Q6_K's 64 bytes of 2-bit codes: planes of 32 values in each half of a block. The codes
 * are put into the quads `shift` bits up.
 */
void AddTwoBits(const RowPointers& blocks, int64_t offset, int shift, Words* quads) {
  for (int half = 0; half < 2; half++) {
    Words words[8];
    LoadWords(blocks, offset + 32 * half, 8, words);
    for (int plane = 0; plane < 4; plane++) {
      for (Words word : words) {
        *quads = *quads | (word >> 2 * plane & 0x03030303) << shift;
        quads++;
      }
    }
  }
}

void ClearQuads(Words* quads) {
  std::memset(quads, 0, sizeof(Words) * kMaxBlockColumns / 4);
}

/** Scale k of Q3_K: low nibbles in bytes 0 to 7, two high bits in bytes 8 to 11 of three words. */
Words SixBitScale(const Words* words, int k) {
  const Words low = words[k % 8 / 4] >> (k % 4 * 8 + (k < 8 ? 0 : 4)) & 15;
  const Words high = words[2] >> (k % 4 * 8 + k / 4 * 2) & 3;
  return low | high << 4;
}

struct ScaleAndMinimum {
  Words scale;
  Words minimum;
};

/** Group g of Q4_K and Q5_K; groups 4 to 7 have their high bits in the bytes of groups 0 to 3. */
ScaleAndMinimum ReadScale(const Words* words, int g) {
  const int at = g % 4;
  if (g < 4) return {ByteOf(words[0], at) & 63, ByteOf(words[1], at) & 63};
  const Words packed = ByteOf(words[2], at);
  return {(packed & 15) | (ByteOf(words[0], at) >> 6) << 4, packed >> 4 | (ByteOf(words[1], at) >> 6) << 4};
}

/** Scales of the 8 groups, and their nibbles: groups 2n and 2n + 1 are the low and high ones of 32 bytes. */
void ReadGroups(const RowPointers& blocks, int64_t nibbles, DecodedBlocks* out) {
  Words head[4];
  LoadWords(blocks, 0, 4, head);
  const Floats scale = WidenHalves(head[0] & 0xffff);
  const Floats minimum = WidenHalves(head[0] >> 16) * -1.0f;
  for (int g = 0; g < 8; g++) {
    const ScaleAndMinimum own = ReadScale(head + 1, g);
    out->scale[g] = scale * ToFloats(own.scale);
    out->bias[g] = minimum * ToFloats(own.minimum);
  }
  for (int pair = 0; pair < 4; pair++) {
    Words words[8];
    LoadWords(blocks, nibbles + 32 * pair, 8, words);
    SplitNibbles(words, 8, out->quads + 16 * pair, out->quads + 16 * pair + 8);
  }
}

}  // namespace

void DecodeQ2K(const RowPointers& blocks, DecodedBlocks* out) {
  const Words both = LoadWord(blocks, 80);
  const Floats scale = WidenHalves(both & 0xffff);
  const Floats minimum = WidenHalves(both >> 16) * -1.0f;
  Words own[4];
  LoadWords(blocks, 0, 4, own);
  for (int g = 0; g < 16; g++) {
    out->scale[g] = scale * ToFloats(ByteOf(own[g / 4], g % 4) & 15);
    out->bias[g] = minimum * ToFloats(ByteOf(own[g / 4], g % 4) >> 4);
  }
  ClearQuads(out->quads);
  AddTwoBits(blocks, 16, 0, out->quads);
}

void DecodeQ3K(const RowPointers& blocks, DecodedBlocks* out) {
  const Floats scale = WidenHalves(LoadShorts(blocks, 108));
  const Words own[3] = {LoadWord(blocks, 96), LoadWord(blocks, 100), LoadWord(blocks, 104)};
  for (int g = 0; g < 16; g++) {
    out->scale[g] = scale * ToFloats(SixBitScale(own, g), -32);
    out->bias[g] = out->scale[g] * -4.0f;
  }
  Words thirds[8];
  LoadWords(blocks, 0, 8, thirds);
  for (int q = 0; q < 64; q++) out->quads[q] = (thirds[q % 8] >> q / 8 & 0x01010101) << 2;
  AddTwoBits(blocks, 32, 0, out->quads);
}

void DecodeQ4K(const RowPointers& blocks, DecodedBlocks* out) {
  ReadGroups(blocks, 16, out);
}

void DecodeQ5K(const RowPointers& blocks, DecodedBlocks* out) {
  ReadGroups(blocks, 48, out);
  Words fifths[8];
  LoadWords(blocks, 16, 8, fifths);
  for (int q = 0; q < 64; q++) out->quads[q] = out->quads[q] | (fifths[q % 8] >> q / 8 & 0x01010101) << 4;
}

void DecodeQ6K(const RowPointers& blocks, DecodedBlocks* out) {
  const Floats scale = WidenHalves(LoadShorts(blocks, 208));
  Words own[4];
  LoadWords(blocks, 192, 4, own);
  for (int g = 0; g < 16; g++) {
    out->scale[g] = scale * SignedByteOf(own[g / 4], g % 4);
    out->bias[g] = out->scale[g] * -32.0f;
  }
  for (int half = 0; half < 2; half++) {
    Words words[16];
    LoadWords(blocks, 64 * half, 16, words);
    SplitNibbles(words, 16, out->quads + 32 * half, out->quads + 32 * half + 16);
  }
  AddTwoBits(blocks, 128, 4, out->quads);
}

void DecodeIq4Xs(const RowPointers& blocks, DecodedBlocks* out) {
  const Words head = LoadWord(blocks, 0);
  const Words low = LoadWord(blocks, 4);
  const Floats scale = WidenHalves(head & 0xffff);
  for (int g = 0; g < 8; g++) {
    const Words own = (low >> 4 * g & 15) | (head >> (16 + 2 * g) & 3) << 4;
    out->scale[g] = scale * ToFloats(own, -32);
    out->bias[g] = out->scale[g] * -128.0f;
    Words words[4];
    LoadWords(blocks, 8 + 16 * g, 4, words);
    SplitNibbles(words, 4, out->quads + 8 * g, out->quads + 8 * g + 4);
  }
  LookUpIq4(64, out->quads);
}

}  // namespace anllm::weights
