import type { TensorIndex } from '../../loading/weights';
import type { GraphBuilder } from '../graph';
import type { StateLayerSpec, ValueId, WeightId } from '../program';
import { rmsNorm } from './norm';
import { matrixRows } from './parts';

export interface GatedDeltaNetSpec extends StateLayerSpec {
  readonly hidden: number;
  readonly eps: number;
  /**
   * 'grouped': in_proj_qkvz and in_proj_ba, whose rows go key head by key head (Qwen3-Next; GGUF has in_proj_qkv and in_proj_z
   * of it). 'separate': in_proj_qkv, in_proj_z, in_proj_b and in_proj_a (Qwen3.5).
   */
  readonly layout: 'grouped' | 'separate';
}

/**
 * Gated DeltaNet (https://arxiv.org/abs/2412.06464): a short convolution and the gated delta rule instead of attention, its result
 * normed and gated head by head. x [T, hidden] → [T, hidden].
 */
export function gatedDeltaNet(
  g: GraphBuilder,
  tensors: TensorIndex,
  x: ValueId,
  path: string,
  spec: GatedDeltaNetSpec,
): ValueId {
  const { hidden, eps, keyHeads, valueHeads, keyDim, valueDim, taps, tiled } = spec;
  const channels = 2 * keyHeads * keyDim + valueHeads * valueDim;
  const width = valueHeads * valueDim;
  const projected = g.wideLinear(x, inputs(g, tensors, path, spec));
  const conv = `${path}.conv1d.weight`;
  // [channels, 1, taps], [channels, taps, 1] in MLX, or [channels, taps] in GGUF: the same bytes.
  const shape = tensors.shape(conv) ?? [channels, 1, taps];
  const length = channels * taps;
  const part = { shape, start: 0, length, stride: length, count: 1 };
  const mixed = g.gatedDelta(
    projected,
    { keyHeads, valueHeads, keyDim, valueDim, taps, ...(tiled === true && { tiled }) },
    {
      conv: g.vector(conv, length, part),
      decay: g.vector(`${path}.A_log`, valueHeads),
      timeBias: g.vector(`${path}.dt_bias`, valueHeads),
    },
  );
  const headNorm = rmsNorm(g, `${path}.norm.weight`, valueDim, eps);
  const gate = { value: projected, column: channels + 2 * valueHeads, activation: 'silu' } as const;
  const gated = g.norm(mixed, headNorm, valueHeads, gate);
  return g.linear(gated, g.matrix(`${path}.out_proj.weight`, hidden, width));
}

/** The input projections in the order q k v, b, a, z. */
function inputs(
  g: GraphBuilder,
  tensors: TensorIndex,
  path: string,
  spec: GatedDeltaNetSpec,
): WeightId[] {
  const { hidden, keyHeads, valueHeads, keyDim, valueDim, layout } = spec;
  const width = valueHeads * valueDim;
  const matrix = (name: string, rows: number) => g.matrix(`${path}.${name}.weight`, rows, hidden);
  if (layout === 'grouped' && !tensors.has(`${path}.in_proj_qkv.weight`)) {
    const [qkv, z] = groupedValues(g, path, spec);
    return [...qkv, ...groupedGates(g, path, spec), z];
  }
  return [
    matrix('in_proj_qkv', 2 * keyHeads * keyDim + width),
    ...(layout === 'grouped'
      ? groupedGates(g, path, spec)
      : [matrix('in_proj_b', valueHeads), matrix('in_proj_a', valueHeads)]),
    matrix('in_proj_z', width),
  ];
}

/** [q, k, v] and z of rows that go key head by key head: q, k, then v and z of the value heads that read it. */
function groupedValues(
  g: GraphBuilder,
  path: string,
  spec: GatedDeltaNetSpec,
): [qkv: WeightId[], z: WeightId] {
  const { keyHeads, valueHeads, keyDim, valueDim } = spec;
  const values = (valueHeads / keyHeads) * valueDim;
  const rows = (start: number, length: number) =>
    ofEveryKeyHead(g, `${path}.in_proj_qkvz.weight`, spec, {
      start,
      length,
      stride: 2 * (keyDim + values),
    });
  return [
    [rows(0, keyDim), rows(keyDim, keyDim), rows(2 * keyDim, values)],
    rows(2 * keyDim + values, values),
  ];
}

/** b and a, of the value heads of one key head by turns. */
function groupedGates(g: GraphBuilder, path: string, spec: GatedDeltaNetSpec): WeightId[] {
  const length = spec.valueHeads / spec.keyHeads;
  return [0, length].map((start) =>
    ofEveryKeyHead(g, `${path}.in_proj_ba.weight`, spec, { start, length, stride: 2 * length }),
  );
}

function ofEveryKeyHead(
  g: GraphBuilder,
  name: string,
  { hidden, keyHeads }: GatedDeltaNetSpec,
  runs: { start: number; length: number; stride: number },
): WeightId {
  return matrixRows(g, name, [keyHeads * runs.stride, hidden], { ...runs, count: keyHeads });
}
