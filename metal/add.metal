/** out = a + b. Grid: count / ELEMENT_THREADS. */
#include "params.h"
#include "values.h"

KERNEL(add, ELEMENT_THREADS)
(BUFFER(const uchar, a, 0), BUFFER(const uchar, b, 1), BUFFER(uchar, out, 2), PARAMS(ElementParams, p, 3),
 GRID) {
  const uint i = group.x * ELEMENT_THREADS + thread_index;
  if (i >= p.count) return;
  store_value(out, kOutType, i, load_value(a, kXType, i) + load_value(b, kXType, i));
}
