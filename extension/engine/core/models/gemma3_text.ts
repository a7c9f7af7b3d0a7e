import { readDecoderShape, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import { GraphBuilder } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { gatedMlp } from '../layers/mlp';
import { rmsNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Program } from '../program';
import type { ModelFamily } from './family';
import {
  readGemmaActivation,
  readGemmaOffset,
  readGemmaRopes,
  readGemmaScores,
  readPatternPeriod,
} from './gemma_config';
import { readWindows } from './windows';

/**
 * Gemma 3 (https://arxiv.org/abs/2503.19786): five sliding layers to a global one, each kind with its own rotary embedding;
 * queries and keys are normed.
 */
export const gemma3Text: ModelFamily = { modelType: 'gemma3_text', build };

/** The larger models' configs leave out what they share. */
const DEFAULTS = {
  numHeads: 8,
  numKvHeads: 4,
  headDim: 256,
  vocabSize: 262_208,
  contextLength: 131_072,
  tieWordEmbeddings: true,
};

function build(reader: ConfigReader): Program {
  const config = readDecoderShape(reader, DEFAULTS);
  const eps = readNormEpsilon(reader, 'rms_norm_eps', 1e-6);
  const offset = readGemmaOffset(reader);
  const activation = readGemmaActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const { scale, scoreCap, logitCap } = readGemmaScores(reader, { scores: null, logits: null });
  const period = readPatternPeriod(reader);
  const windows = readWindows(reader, config.numLayers, (layer) => (layer + 1) % period !== 0);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const ropes = readGemmaRopes(reader, config);

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps, offset);
  return decoder(g, {
    modelType: 'gemma3_text',
    config,
    norm,
    embeddingScale: Math.sqrt(hidden),
    logitSoftcap: logitCap,
    layer(x, path, n) {
      const window = windows[n] ?? null;
      const aroundAttention = {
        pre: norm(`${path}.input_layernorm`),
        post: norm(`${path}.post_attention_layernorm`),
      };
      const mixed = residual(g, x, aroundAttention, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope: window === null ? ropes.full : ropes.sliding,
          headNorm: { over: 'head', eps, offset },
          scale,
          softcap: scoreCap,
          window,
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      const aroundMlp = {
        pre: norm(`${path}.pre_feedforward_layernorm`),
        post: norm(`${path}.post_feedforward_layernorm`),
      };
      return residual(g, mixed, aroundMlp, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation }),
      );
    },
  });
}
