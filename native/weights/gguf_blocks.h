/** GGUF's block formats: extension/engine/backend/reference/formats in C++, which also says where the bits
 * lie. */
#pragma once

#include "code_group.h"
#include "source.h"

namespace anllm::weights {

struct BlockFormat {
  const char* name;
  /** Values and bytes of a block. */
  int64_t columns;
  int64_t bytes;
  /** Of its codes. */
  int bits;
  /** The smallest type that holds scale and bias of the groups exactly. */
  Float scalar;
  /** Decodes a block to columns / 32 groups; null when a scale serves fewer values. */
  void (*groups)(const uint8_t* block, CodeGroup* groups);
  /** Decodes a block to columns / 16 groups; null for the others. */
  void (*fine_groups)(const uint8_t* block, FineGroup* groups);
};

/** The columns of the largest block. */
constexpr int64_t kMaxBlockColumns = 256;

/** That of a source of kind kGguf. Throws Error unsupported. */
const BlockFormat& BlockFormatOf(const WeightSource& source);

/** The values of a block of a format with fine groups. */
void DecodeFineBlock(const BlockFormat& format, const uint8_t* block, float* values);

/** Values of the 16 codes of IQ4_NL and IQ4_XS. */
extern const int8_t kIq4Levels[16];

void DecodeQ2K(const uint8_t* block, FineGroup* groups);
void DecodeQ3K(const uint8_t* block, FineGroup* groups);
void DecodeQ4K(const uint8_t* block, CodeGroup* groups);
void DecodeQ5K(const uint8_t* block, CodeGroup* groups);
void DecodeQ6K(const uint8_t* block, FineGroup* groups);
void DecodeIq4Xs(const uint8_t* block, CodeGroup* groups);

}  // namespace anllm::weights
