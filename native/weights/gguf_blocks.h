/**
 * GGUF's block formats, decoded 16 rows at a time: extension/engine/backend/reference/formats in C++, which
 * also says where the bits lie.
 */
#pragma once

#include "lanes.h"
#include "source.h"

namespace anllm::weights {

/** The columns of the largest block. */
constexpr int64_t kMaxBlockColumns = 256;
/** Columns of a group, and of a group of the formats whose scales serve fewer. */
constexpr int64_t kCodeGroup = 32;
constexpr int64_t kFineGroup = 16;

/** A block of each of 16 rows: w = code * scale + bias; of E2M1 the scale is that of a half. */
struct DecodedBlocks {
  /** Codes of 4 columns, a byte each. */
  Words quads[kMaxBlockColumns / 4];
  /** Of a group of columns. */
  Floats scale[kMaxBlockColumns / kFineGroup];
  Floats bias[kMaxBlockColumns / kFineGroup];
};

struct BlockFormat {
  const char* name;
  /** Values and bytes of a block. */
  int64_t columns;
  int64_t bytes;
  int64_t group_size;
  /** How its codes are packed; kE2m1's are decoded as they are. */
  Coding coding;
  /** Of the codes, or of kE2m1Steps. */
  int bits;
  /** The smallest type that holds scale and bias of the groups exactly. */
  Float scalar;
  void (*decode)(const RowPointers& blocks, DecodedBlocks* out);
};

/** That of a source of kind kGguf. Throws Error unsupported. */
const BlockFormat& BlockFormatOf(const WeightSource& source);

/** `count` words of nibbles as quads: of the low ones at `low`, of the high ones at `high`. */
ANLLM_INLINE void SplitNibbles(const Words* words, int count, Words* low, Words* high) {
  for (int i = 0; i < count; i++) {
    low[i] = words[i] & 0x0f0f0f0f;
    high[i] = words[i] >> 4 & 0x0f0f0f0f;
  }
}
/** Puts the levels of IQ4 plus 128 in place of codes. */
void LookUpIq4(int count, Words* quads);

void DecodeQ2K(const RowPointers& blocks, DecodedBlocks* out);
void DecodeQ3K(const RowPointers& blocks, DecodedBlocks* out);
void DecodeQ4K(const RowPointers& blocks, DecodedBlocks* out);
void DecodeQ5K(const RowPointers& blocks, DecodedBlocks* out);
void DecodeQ6K(const RowPointers& blocks, DecodedBlocks* out);
void DecodeIq4Xs(const RowPointers& blocks, DecodedBlocks* out);

}  // namespace anllm::weights
