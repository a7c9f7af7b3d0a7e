/** out = gated(gate, up), or activation(gate). Grid: count / ELEMENT_THREADS. */
#include "activate.h"
#include "params.h"
#include "values.h"

KERNEL(activation, ELEMENT_THREADS)
(BUFFER(const uchar, gate, 0), BUFFER(const uchar, up, 1), BUFFER(uchar, out, 2), PARAMS(ElementParams, p, 3),
 GRID) {
  const uint i = group.x * ELEMENT_THREADS + thread_index;
  if (i >= p.count) return;
  const float value = load_value(gate, kXType, i);
  store_value(out, kOutType, i, kHasUp ? gated(value, load_value(up, kXType, i)) : activate(value));
}
