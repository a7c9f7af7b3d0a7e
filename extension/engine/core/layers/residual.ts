import type { GraphBuilder } from '../graph';
import type { NormSpec, ValueId } from '../program';

export interface ResidualSpec {
  /** Norm of what the inner part reads; none for OLMo 2. */
  readonly pre?: NormSpec;
  /** Norm of what the inner part adds (Gemma 2, OLMo 2, GLM-4). */
  readonly post?: NormSpec;
  /** Multiplies what the inner part adds (Granite). */
  readonly factor?: number;
}

/** x + factor * post(inner(pre(x))) */
export function residual(
  g: GraphBuilder,
  x: ValueId,
  { pre, post, factor = 1 }: ResidualSpec,
  inner: (x: ValueId) => ValueId,
): ValueId {
  let y = inner(pre === undefined ? x : g.norm(x, pre));
  if (post !== undefined) y = g.norm(y, post);
  if (factor !== 1) y = g.scale(y, factor);
  return g.add(x, y);
}
