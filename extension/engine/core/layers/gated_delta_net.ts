import type { TensorIndex } from '../../loading/weights';
import type { GraphBuilder } from '../graph';
import type { StateLayerSpec, ValueId, WeightId } from '../program';
import { rmsNorm } from './norm';
import { matrixRows } from './parts';

export interface GatedDeltaNetSpec extends StateLayerSpec {
  readonly hidden: number;
  readonly eps: number;
  /**
   * 'grouped': in_proj_qkvz and in_proj_ba, whose rows go key head by key head (Qwen3-Next). 'separate': in_proj_qkv,
   * in_proj_z, in_proj_b and in_proj_a (Qwen3.5).
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
  const { hidden, eps, keyHeads, valueHeads, keyDim, valueDim, taps } = spec;
  const channels = 2 * keyHeads * keyDim + valueHeads * valueDim;
  const width = valueHeads * valueDim;
  const weights = spec.layout === 'grouped' ? grouped(g, path, spec) : separate(g, path, spec);
  const projected = g.wideLinear(x, weights);
  const conv = `${path}.conv1d.weight`;
  // [channels, 1, taps], or [channels, taps, 1] in MLX: the same bytes.
  const shape = tensors.shape(conv) ?? [channels, 1, taps];
  const length = channels * taps;
  const part = { shape, start: 0, length, stride: length, count: 1 };
  const mixed = g.gatedDelta(
    projected,
    { keyHeads, valueHeads, keyDim, valueDim, taps },
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
function separate(g: GraphBuilder, path: string, spec: GatedDeltaNetSpec): WeightId[] {
  const { hidden, keyHeads, valueHeads, keyDim, valueDim } = spec;
  const width = valueHeads * valueDim;
  const matrix = (name: string, rows: number) => g.matrix(`${path}.${name}.weight`, rows, hidden);
  return [
    matrix('in_proj_qkv', 2 * keyHeads * keyDim + width),
    matrix('in_proj_b', valueHeads),
    matrix('in_proj_a', valueHeads),
    matrix('in_proj_z', width),
  ];
}

/** The same, from rows that go key head by key head: q, k, then v and z of the value heads that read it; b, a. */
function grouped(g: GraphBuilder, path: string, spec: GatedDeltaNetSpec): WeightId[] {
  const { hidden, keyHeads, valueHeads, keyDim, valueDim } = spec;
  const perKeyHead = valueHeads / keyHeads;
  const values = perKeyHead * valueDim;
  const ofEveryHead = (name: string, stride: number, start: number, length: number) =>
    matrixRows(g, `${path}.${name}.weight`, [keyHeads * stride, hidden], {
      start,
      length,
      stride,
      count: keyHeads,
    });
  const qkvz = (start: number, length: number) =>
    ofEveryHead('in_proj_qkvz', 2 * (keyDim + values), start, length);
  const ba = (start: number) => ofEveryHead('in_proj_ba', 2 * perKeyHead, start, perKeyHead);
  return [
    qkvz(0, keyDim),
    qkvz(keyDim, keyDim),
    qkvz(2 * keyDim, values),
    ba(0),
    ba(perKeyHead),
    qkvz(2 * keyDim + values, values),
  ];
}
