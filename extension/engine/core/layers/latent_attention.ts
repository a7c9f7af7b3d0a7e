import type { TensorIndex } from '../../loading/weights';
import type { GraphBuilder } from '../graph';
import type { RopeSpec, ValueId, WeightId } from '../program';
import { rmsNorm } from './norm';
import { matrixRows } from './parts';

export interface LatentAttentionSpec {
  readonly hidden: number;
  readonly heads: number;
  /** Columns of a query or key head that are not rotated, and those that are. */
  readonly nopeDim: number;
  readonly ropeDim: number;
  readonly valueDim: number;
  /** Width of the latent that keys and values are made from. */
  readonly kvRank: number;
  /** Width of the queries' latent; null: queries come from x directly. */
  readonly queryRank: number | null;
  readonly eps: number;
  /** Of the rotated columns. */
  readonly rope: RopeSpec;
  /** Score multiplier. */
  readonly scale: number;
  readonly bias: boolean;
}

/**
 * Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434, section 2.1) in its expanded form: keys and values
 * of all heads are made from the latent and cached. x [T, hidden] → [T, hidden].
 */
export function latentAttention(
  g: GraphBuilder,
  tensors: TensorIndex,
  x: ValueId,
  path: string,
  spec: LatentAttentionSpec,
): ValueId {
  const { hidden, heads, nopeDim, ropeDim, valueDim, kvRank, eps, bias } = spec;
  const keyDim = nopeDim + ropeDim;
  const down = 'kv_a_proj_with_mqa';
  const compress = (start: number, length: number) => {
    const total = kvRank + ropeDim;
    const weight = matrixRows(g, `${path}.${down}.weight`, [total, hidden], { start, length });
    if (!bias) return g.linear(x, weight);
    const part = { shape: [total], start, length, stride: length, count: 1 };
    return g.linear(x, weight, g.vector(`${path}.${down}.bias`, length, part));
  };
  const q = g.rope(query(g, x, path, spec), heads, keyDim, { ...spec.rope, start: nopeDim });
  const latent = g.norm(
    compress(0, kvRank),
    rmsNorm(g, `${path}.kv_a_layernorm.weight`, kvRank, eps),
  );
  const sharedKey = g.rope(compress(kvRank, ropeDim), 1, ropeDim, spec.rope);
  const [toKeys, toValues] = expansions(g, tensors, path, spec);
  const [k, v] = [g.linear(latent, toKeys), g.linear(latent, toValues)];
  const layer = g.kvWrite(k, v, { kvHeads: heads, keyDim, valueDim }, sharedKey);
  const mixed = g.attention(q, layer, { heads, scale: spec.scale });
  return g.linear(
    mixed,
    g.matrix(`${path}.o_proj.weight`, hidden, heads * valueDim),
    bias ? g.vector(`${path}.o_proj.bias`, hidden) : null,
  );
}

function query(g: GraphBuilder, x: ValueId, path: string, spec: LatentAttentionSpec): ValueId {
  const { hidden, heads, nopeDim, ropeDim, queryRank, eps, bias } = spec;
  const width = heads * (nopeDim + ropeDim);
  if (queryRank === null) return g.linear(x, g.matrix(`${path}.q_proj.weight`, width, hidden));
  const down = g.matrix(`${path}.q_a_proj.weight`, queryRank, hidden);
  const latent = g.norm(
    g.linear(x, down, bias ? g.vector(`${path}.q_a_proj.bias`, queryRank) : null),
    rmsNorm(g, `${path}.q_a_layernorm.weight`, queryRank, eps),
  );
  return g.linear(latent, g.matrix(`${path}.q_b_proj.weight`, width, queryRank));
}

/** What makes keys [heads * nopeDim, kvRank] and values [heads * valueDim, kvRank] of the latent. */
function expansions(
  g: GraphBuilder,
  tensors: TensorIndex,
  path: string,
  { heads, nopeDim, valueDim, kvRank }: LatentAttentionSpec,
): [keys: WeightId, values: WeightId] {
  const split = `${path}.k_b_proj.weight`;
  if (!tensors.has(split)) {
    const stride = nopeDim + valueDim;
    const rows = (start: number, length: number) =>
      matrixRows(g, `${path}.kv_b_proj.weight`, [heads * stride, kvRank], {
        start,
        length,
        stride,
        count: heads,
      });
    return [rows(0, nopeDim), rows(nopeDim, valueDim)];
  }
  // GGUF, which keeps the keys' half the way that takes queries into the latent space.
  const [keyRows, valueRows] = [heads * nopeDim, heads * valueDim];
  const whole = { start: 0, length: keyRows, stride: keyRows, count: 1 };
  return [
    g.matrix(split, keyRows, kvRank, {
      ...whole,
      shape: [heads, kvRank, nopeDim],
      transposed: true,
    }),
    matrixRows(g, `${path}.v_b_proj.weight`, [heads, valueDim, kvRank], {
      start: 0,
      length: valueRows,
    }),
  ];
}
