/** Programs around one attention layer. */
import type { Program } from '../../extension/engine/core/program';
import type { TestProgram } from './harness';

export interface AttentionCase {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly window?: number;
  readonly softcap?: number;
  readonly hasSinks?: boolean;
  readonly hasGate?: boolean;
  /** Last columns of every key that all key heads share. */
  readonly sharedKeyDim?: number;
}

/** q, k and v by projections of the embedding, then kv_write and attention; the logits are the attention's output. */
export function attentionProgram(test: TestProgram, spec: AttentionCase): Program {
  const { heads, kvHeads, keyDim, valueDim } = spec;
  const vocab = heads * valueDim;
  const x = test.embed(vocab, 64);
  const q = test.linear(x, heads * keyDim);
  const { sharedKeyDim = 0 } = spec;
  const k = test.linear(x, kvHeads * (keyDim - sharedKeyDim));
  const v = test.linear(x, kvHeads * valueDim);
  const layer = test.kvLayer({ kvHeads, keyDim, valueDim });
  test.push({
    op: 'kv_write',
    k,
    v,
    ...(sharedKeyDim > 0 && { sharedKey: test.linear(x, sharedKeyDim) }),
    layer,
  });
  const out = test.value(vocab);
  test.push({
    op: 'attention',
    q,
    layer,
    heads,
    scale: 1.5 / Math.sqrt(keyDim),
    window: spec.window ?? null,
    softcap: spec.softcap ?? null,
    sinks: spec.hasSinks === true ? test.vector(heads, 2) : null,
    ...(spec.hasGate === true && { gate: { value: test.linear(x, vocab + 9), column: 9 } }),
    out,
  });
  return test.finish(out);
}
