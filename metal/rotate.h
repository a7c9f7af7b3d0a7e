/** Rotary position embedding (Su et al. 2021). */
#pragma once

#include "constants.h"
#include "msl.h"

/** How one element of a head turns: out = own * cos + partner * sin, where sin carries its sign. */
struct Rotation {
  uint partner;
  float cosine;
  float sine;
};

/**
 * Element `i` of the rotated part of a head, i < 2 * pairs. A pair turns by position * frequency, where
 * `frequency` is a fraction of a turn in units of 2^-64 (x: high word): integers wrap at whole turns exactly,
 * so long contexts lose no digits.
 */
inline void rotation_of(uint i, uint pairs, uint position, DEVICE(const uint2) frequencies, float scale,
                        thread Rotation& rotation) {
  bool is_first;
  uint pair;
  if (kRope == ROPE_HALF) {
    is_first = i < pairs;
    pair = is_first ? i : i - pairs;
    rotation.partner = is_first ? i + pairs : i - pairs;
  } else {
    is_first = i % 2 == 0;
    pair = i / 2;
    rotation.partner = is_first ? i + 1 : i - 1;
  }
  const uint2 frequency = frequencies[pair];
  const uint turn = position * frequency.x + mulhi(position, frequency.y);
  const float angle = float(int(turn)) * (6.28318530718f / 4294967296.0f);
  rotation.cosine = cos(angle) * scale;
  rotation.sine = (is_first ? -sin(angle) : sin(angle)) * scale;
}
