import type { TensorIndex } from '../../loading/weights';
import type { ExpertWeights, GraphBuilder } from '../graph';
import { matrixRows } from './parts';

/** The three projections of all experts of one layer. */
export interface Experts {
  readonly gate: ExpertWeights;
  readonly up: ExpertWeights;
  readonly down: ExpertWeights;
}

export interface ExpertShape {
  readonly experts: number;
  readonly hidden: number;
  /** Inner width of one expert. */
  readonly intermediate: number;
}

/**
 * The experts of the block at `path` in any of the layouts that checkpoints have: `switch_mlp.gate_proj` [experts, rows,
 * cols] (MLX, GGUF), gate and up as one [experts, 2 * intermediate, hidden] (some GGUF files; as `experts.gate_up_proj` with
 * `experts.down_proj` in newer Hugging Face exports), `experts.N.gate_proj` (the others).
 */
export function expertWeights(
  g: GraphBuilder,
  tensors: TensorIndex,
  path: string,
  shape: ExpertShape,
): Experts {
  if (tensors.has(`${path}.switch_mlp.gate_proj.weight`)) {
    return stackedExperts(g, `${path}.switch_mlp`, shape);
  }
  for (const [wide, narrow] of [
    [`${path}.switch_mlp.gate_up_proj.weight`, `${path}.switch_mlp.down_proj.weight`],
    [`${path}.experts.gate_up_proj`, `${path}.experts.down_proj`],
  ] as const) {
    if (tensors.has(wide)) return fusedExperts(g, wide, narrow, shape);
  }
  const { experts, hidden, intermediate } = shape;
  const each = (name: string, rows: number, cols: number): ExpertWeights => ({
    weights: Array.from({ length: experts }, (_, e) =>
      g.matrix(`${path}.experts.${e}.${name}.weight`, rows, cols),
    ),
  });
  return {
    gate: each('gate_proj', intermediate, hidden),
    up: each('up_proj', intermediate, hidden),
    down: each('down_proj', hidden, intermediate),
  };
}

/** `path`.gate_proj.weight, up_proj and down_proj, each [experts, rows, cols]. */
export function stackedExperts(g: GraphBuilder, path: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const stacked = (name: string, rows: number, cols: number): ExpertWeights => {
    const all = { start: 0, length: experts * rows };
    return { weights: [matrixRows(g, `${path}.${name}.weight`, [experts, rows, cols], all)] };
  };
  return {
    gate: stacked('gate_proj', intermediate, hidden),
    up: stacked('up_proj', intermediate, hidden),
    down: stacked('down_proj', hidden, intermediate),
  };
}

/** The tensors `wide`, gate above up, and `narrow`, down. */
function fusedExperts(g: GraphBuilder, wide: string, narrow: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const half = (start: number): ExpertWeights => {
    const runs = { start, length: intermediate, stride: 2 * intermediate, count: experts };
    return { weights: [matrixRows(g, wide, [experts, 2 * intermediate, hidden], runs)] };
  };
  const all = { start: 0, length: experts * hidden };
  return {
    gate: half(0),
    up: half(intermediate),
    down: { weights: [matrixRows(g, narrow, [experts, hidden, intermediate], all)] },
  };
}
