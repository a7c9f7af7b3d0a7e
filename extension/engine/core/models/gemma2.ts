import { readDecoderConfig, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import { GraphBuilder } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { gatedMlp } from '../layers/mlp';
import { rmsNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Program } from '../program';
import { ropeSpec } from '../rope';
import type { ModelFamily } from './family';
import { readGemmaActivation, readGemmaOffset, readGemmaScores } from './gemma_config';
import { readWindows } from './windows';

/**
 * Gemma 2 (https://arxiv.org/abs/2408.00118): every other layer slides, what a layer adds is normed, attention scores and
 * logits are soft-capped.
 */
export const gemma2: ModelFamily = { modelType: 'gemma2', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader, { tieWordEmbeddings: true, headDim: 256 });
  const eps = readNormEpsilon(reader);
  const offset = readGemmaOffset(reader);
  const activation = readGemmaActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const { scale, scoreCap, logitCap } = readGemmaScores(reader, { scores: 50, logits: 30 });
  const windows = readWindows(reader, config.numLayers, (layer) => layer % 2 === 0);
  reader.ignore('sliding_window_size'); // repeats sliding_window
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps, offset);
  return decoder(g, {
    modelType: 'gemma2',
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
          rope,
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
