import type { DecoderShape } from '../../loading/config';
import type { GraphBuilder } from '../graph';
import type { RopeSpec, ValueId } from '../program';
import { rmsNorm } from './norm';
import { projections, type ProjectionSpec } from './projections';

export interface HeadShape {
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

export interface AttentionSpec extends HeadShape {
  readonly rope: RopeSpec | null;
  /** Score multiplier; default 1 / sqrt(headDim). */
  readonly scale?: number;
  /** RMS norm of queries and keys: of every head (Qwen3), or over all heads together (OLMo 2). */
  readonly headNorm?: HeadNorm;
  readonly layout?: ProjectionSpec['layout'];
  readonly qkvBias?: boolean;
  readonly outputBias?: boolean;
  readonly window?: number | null;
  readonly softcap?: number | null;
  /** One learned logit a head, `sinks`, that joins the softmax (gpt-oss). */
  readonly sinks?: boolean;
}

interface HeadNorm {
  readonly over: 'head' | 'row';
  readonly eps: number;
  readonly offset?: number;
}

export function headShape(config: DecoderShape): HeadShape {
  const { hiddenSize, numHeads, numKvHeads, headDim } = config;
  return { hidden: hiddenSize, heads: numHeads, kvHeads: numKvHeads, headDim };
}

/**
 * Grouped-query attention, tensors named as in Hugging Face checkpoints; x [T, hidden] → [T, hidden].
 */
export function attention(g: GraphBuilder, x: ValueId, path: string, spec: AttentionSpec): ValueId {
  const { hidden, heads, kvHeads, headDim, rope, layout = 'separate' } = spec;
  const project = projections(g, x, path, {
    hidden,
    heads,
    kvHeads,
    headDim,
    layout,
    bias: spec.qkvBias ?? false,
  });
  const prepare = (value: ValueId, norm: string, count: number) => {
    const normed = normHeads(g, value, `${path}.${norm}.weight`, count, spec);
    return rope === null ? normed : g.rope(normed, count, headDim, rope);
  };
  const q = prepare(project.query(), 'q_norm', heads);
  const k = prepare(project.key(), 'k_norm', kvHeads);
  const layer = g.kvWrite(k, project.value(), { kvHeads, keyDim: headDim, valueDim: headDim });
  let mixed = g.attention(q, layer, {
    heads,
    scale: spec.scale ?? 1 / Math.sqrt(headDim),
    window: spec.window ?? null,
    softcap: spec.softcap ?? null,
    sinks: spec.sinks === true ? g.vector(`${path}.sinks`, heads) : null,
  });
  if (layout === 'gated') mixed = g.gated(project.gate(), mixed, 'sigmoid');
  return g.linear(
    mixed,
    g.matrix(`${path}.o_proj.weight`, hidden, heads * headDim),
    spec.outputBias === true ? g.vector(`${path}.o_proj.bias`, hidden) : null,
  );
}

function normHeads(
  g: GraphBuilder,
  x: ValueId,
  name: string,
  heads: number,
  { headNorm, headDim }: AttentionSpec,
): ValueId {
  if (headNorm === undefined) return x;
  const { over, eps, offset } = headNorm;
  return over === 'row'
    ? g.norm(x, rmsNorm(g, name, heads * headDim, eps, offset))
    : g.norm(x, rmsNorm(g, name, headDim, eps, offset), heads);
}
