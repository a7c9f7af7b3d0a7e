/** Rotates every head of x [T, heads * head_dim]. Grid: columns / ELEMENT_THREADS, T. */
#include "params.h"
#include "rotate.h"
#include "values.h"

KERNEL(rope, ELEMENT_THREADS)
(BUFFER(const uchar, x, 0), BUFFER(const uint2, frequencies, 1), BUFFER(const int, positions, 2),
 BUFFER(uchar, out, 3), PARAMS(RopeParams, p, 4), GRID) {
  const uint columns = p.heads * p.head_dim;
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= columns) return;
  const uint i = column % p.head_dim;
  const uint head = group.y * columns + column - i;
  float value = load_value(x, kXType, head + i);
  const uint turning = i - p.start;
  if (i >= p.start && turning < 2 * p.pairs) {
    Rotation rotation;
    rotation_of(turning, p.pairs, uint(positions[group.y]), frequencies, p.scale, rotation);
    value =
        value * rotation.cosine + load_value(x, kXType, head + p.start + rotation.partner) * rotation.sine;
  }
  store_value(out, kOutType, head + i, value);
}
