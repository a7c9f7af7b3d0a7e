/** out[t] = weight[token[t]] * scale. Grid: columns / ELEMENT_THREADS, T. */
#include "params.h"
#include "quantized.h"

KERNEL(embed, ELEMENT_THREADS)
(BUFFER(const int, tokens, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(uchar, out, 4), PARAMS(EmbedParams, p, 5), GRID) {
  const uint column = group.x * ELEMENT_THREADS + thread_index;
  if (column >= p.columns) return;
  const uint token = uint(tokens[group.y]);
  const float value = weight_value(weight, scales, biases, token, column, p.columns);
  store_value(out, kOutType, group.y * p.columns + column, value * p.scale);
}
