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
 * cols] (MLX), `experts.gate_up_proj` [experts, 2 * intermediate, hidden] with `experts.down_proj` (newer Hugging Face
 * exports), `experts.N.gate_proj` (the others).
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
  if (tensors.has(`${path}.experts.gate_up_proj`)) return fusedExperts(g, path, shape);
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

function fusedExperts(g: GraphBuilder, path: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const [wide, narrow] = [`${path}.experts.gate_up_proj`, `${path}.experts.down_proj`];
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
