/** Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011). */
#pragma once

#include "msl.h"

/**
 * The number at `index` of a seed's stream, in [0, 1) with 24 bits: the first ones of those that `uniform` of
 * extension/engine/generation/philox.ts gives.
 */
inline float uniform_number(uint seed_low, uint seed_high, uint index_low, uint index_high) {
  uint c0 = index_low;
  uint c1 = index_high;
  uint c2 = 0;
  uint c3 = 0;
  uint k0 = seed_low;
  uint k1 = seed_high;
  for (uint round = 0; round < 10; round++) {
    const uint high0 = mulhi(0xd2511f53u, c0);
    const uint high1 = mulhi(0xcd9e8d57u, c2);
    const uint low0 = 0xd2511f53u * c0;
    const uint low1 = 0xcd9e8d57u * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return float(c0 >> 8) * (1.0f / 16777216.0f);
}
