import type { GraphBuilder } from '../graph';
import type { NormSpec } from '../program';

/** Root-mean-square norm with the weight `name` [cols] (Zhang and Sennrich 2019). */
export function rmsNorm(
  g: GraphBuilder,
  name: string,
  cols: number,
  eps: number,
  offset = 0,
): NormSpec {
  return { kind: 'rms', weight: g.vector(name, cols), bias: null, eps, offset };
}

/** Layer norm with `path`.weight and `path`.bias [cols] (Ba et al. 2016). */
export function layerNorm(g: GraphBuilder, path: string, cols: number, eps: number): NormSpec {
  const weight = g.vector(`${path}.weight`, cols);
  return { kind: 'layer', weight, bias: g.vector(`${path}.bias`, cols), eps, offset: 0 };
}
