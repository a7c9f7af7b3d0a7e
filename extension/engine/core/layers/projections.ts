import type { GraphBuilder } from '../graph';
import type { ValueId } from '../program';
import { matrixRows, vectorRows, type RowRuns } from './parts';

export interface ProjectionSpec {
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly bias: boolean;
  /**
   * 'separate': q_proj, k_proj, v_proj. 'fused': one qkv_proj (Phi-3). 'gated': as separate, but q_proj holds, head by
   * head, a query and a gate for the head's result (Qwen3-Next).
   */
  readonly layout: 'separate' | 'fused' | 'gated';
}

/** Attention's input projections of x [T, hidden]; each method adds one and returns it. */
export interface Projections {
  /** [T, heads * headDim] */
  query(): ValueId;
  /** [T, kvHeads * headDim] */
  key(): ValueId;
  value(): ValueId;
  /** [T, heads * headDim] */
  gate(): ValueId;
}

export function projections(
  g: GraphBuilder,
  x: ValueId,
  path: string,
  spec: ProjectionSpec,
): Projections {
  const { hidden, heads, kvHeads, headDim, bias, layout } = spec;
  const [q, kv] = [heads * headDim, kvHeads * headDim];
  const whole = (name: string, rows: number) =>
    g.linear(
      x,
      g.matrix(`${path}.${name}.weight`, rows, hidden),
      bias ? g.vector(`${path}.${name}.bias`, rows) : null,
    );
  const part = (name: string, total: number, runs: RowRuns) =>
    g.linear(
      x,
      matrixRows(g, `${path}.${name}.weight`, [total, hidden], runs),
      bias ? vectorRows(g, `${path}.${name}.bias`, [total], runs) : null,
    );
  const fused = (start: number, length: number) => part('qkv_proj', q + 2 * kv, { start, length });
  const everyHead = (start: number) =>
    part('q_proj', 2 * q, { start, length: headDim, stride: 2 * headDim, count: heads });
  const isFused = layout === 'fused';
  return {
    query() {
      if (isFused) return fused(0, q);
      return layout === 'gated' ? everyHead(0) : whole('q_proj', q);
    },
    key: () => (isFused ? fused(q, kv) : whole('k_proj', kv)),
    value: () => (isFused ? fused(q + kv, kv) : whole('v_proj', kv)),
    gate: () => everyHead(headDim),
  };
}
