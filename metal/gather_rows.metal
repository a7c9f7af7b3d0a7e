/** out[r] = x[rows[r]]. Grid: columns / ELEMENT_THREADS, R. */
#include "params.h"
#include "values.h"

KERNEL(gather_rows, ELEMENT_THREADS)
(BUFFER(const uchar, x, 0), BUFFER(const int, rows, 1), BUFFER(uchar, out, 2), PARAMS(GatherParams, p, 3),
 GRID) {
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= p.columns) return;
  const float value = load_value(x, kXType, uint(rows[group.y]) * p.columns + column);
  store_value(out, kOutType, group.y * p.columns + column, value);
}
