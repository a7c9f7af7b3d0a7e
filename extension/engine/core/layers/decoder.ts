import type { DecoderShape } from '../../loading/config';
import type { GraphBuilder } from '../graph';
import type { NormSpec, Program, ValueId } from '../program';
import { languageModelHead } from './head';

export interface DecoderSpec {
  readonly modelType: string;
  readonly config: DecoderShape;
  /** The norm whose weights are called `path`.weight (and .bias). */
  readonly norm: (path: string) => NormSpec;
  /** One layer, whose tensors are called `path`.…; x [T, hidden] → [T, hidden]. */
  readonly layer: (x: ValueId, path: string, index: number) => ValueId;
  readonly embeddingScale?: number;
  readonly logitScale?: number;
  readonly logitSoftcap?: number | null;
  /** Prefix of the decoder's tensors; default 'model'. */
  readonly root?: string;
  /** Path of an untied head; default 'lm_head'. */
  readonly head?: string;
}

/** Embedding, layers, final norm and vocabulary projection: what all decoder-only families share. */
export function decoder(g: GraphBuilder, spec: DecoderSpec): Program {
  const { config, root = 'model' } = spec;
  const embedding = `${root}.embed_tokens.weight`;
  let x = g.embed(g.matrix(embedding, config.vocabSize, config.hiddenSize), spec.embeddingScale);
  for (let n = 0; n < config.numLayers; n++) x = spec.layer(x, `${root}.layers.${n}`, n);
  const norm = spec.norm(`${root}.norm`);
  let logits = languageModelHead(g, x, {
    vocab: config.vocabSize,
    norm,
    tied: config.tieWordEmbeddings,
    embedding,
    head: `${spec.head ?? 'lm_head'}.weight`,
  });
  const { logitScale = 1, logitSoftcap = null } = spec;
  if (logitScale !== 1 || logitSoftcap !== null) logits = g.scale(logits, logitScale, logitSoftcap);
  return g.finish(spec.modelType, config.contextLength, logits, { value: x, norm });
}
