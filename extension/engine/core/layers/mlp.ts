import type { GraphBuilder } from '../graph';
import type { Activation, ValueId } from '../program';
import { matrixRows } from './parts';

export interface MlpSpec {
  readonly hidden: number;
  readonly intermediate: number;
  readonly activation: Activation;
  /** Biases on all projections. */
  readonly bias?: boolean;
  /** The checkpoint has gate and up in one tensor, gate_up_proj [2 * intermediate, hidden]. */
  readonly fusedGateUp?: boolean;
}

/** Gated feed-forward network (Shazeer 2020): down(activation(gate(x)) * up(x)); x [T, hidden] → [T, hidden]. */
export function gatedMlp(g: GraphBuilder, x: ValueId, path: string, spec: MlpSpec): ValueId {
  const { hidden, intermediate } = spec;
  const bias = (name: string, rows: number) =>
    spec.bias === true ? g.vector(`${path}.${name}.bias`, rows) : null;
  const wide = (start: number) =>
    matrixRows(g, `${path}.gate_up_proj.weight`, [2 * intermediate, hidden], {
      start,
      length: intermediate,
    });
  const weight = (name: string, start: number) =>
    spec.fusedGateUp === true
      ? wide(start)
      : g.matrix(`${path}.${name}.weight`, intermediate, hidden);
  const gate = g.linear(x, weight('gate_proj', 0), bias('gate_proj', intermediate));
  const up = g.linear(x, weight('up_proj', intermediate), bias('up_proj', intermediate));
  const inner = g.gated(gate, up, spec.activation);
  const down = g.matrix(`${path}.down_proj.weight`, hidden, intermediate);
  return g.linear(inner, down, bias('down_proj', hidden));
}

/** Plain feed-forward network of two layers, c_fc and c_proj: proj(activation(fc(x))). */
export function mlp(
  g: GraphBuilder,
  x: ValueId,
  path: string,
  spec: Omit<MlpSpec, 'fusedGateUp'>,
): ValueId {
  const { hidden, intermediate } = spec;
  const bias = (name: string, rows: number) =>
    spec.bias === true ? g.vector(`${path}.${name}.bias`, rows) : null;
  const wide = g.matrix(`${path}.c_fc.weight`, intermediate, hidden);
  const inner = g.activation(g.linear(x, wide, bias('c_fc', intermediate)), spec.activation);
  const narrow = g.matrix(`${path}.c_proj.weight`, hidden, intermediate);
  return g.linear(inner, narrow, bias('c_proj', hidden));
}
