/** out = softcap * tanh(x * factor / softcap), or x * factor. Grid: count / ELEMENT_THREADS. */
#include "activate.h"
#include "params.h"
#include "values.h"

KERNEL(scale, ELEMENT_THREADS)
(BUFFER(const uchar, x, 0), BUFFER(uchar, out, 1), PARAMS(ScaleParams, p, 2), GRID) {
  const uint i = group.x * ELEMENT_THREADS + thread_index;
  if (i >= p.count) return;
  float value = load_value(x, kXType, i) * p.factor;
  if (kHasSoftcap) value = soft_cap(value, p.softcap);
  store_value(out, kOutType, i, value);
}
