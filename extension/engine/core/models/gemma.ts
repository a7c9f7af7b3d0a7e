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
import { readGemmaActivation, readGemmaOffset } from './gemma_config';

/** Gemma (https://arxiv.org/abs/2403.08295): norm weights are stored less 1, embeddings are scaled by sqrt(hidden). */
export const gemma: ModelFamily = { modelType: 'gemma', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader, { tieWordEmbeddings: true });
  const eps = readNormEpsilon(reader);
  const offset = readGemmaOffset(reader);
  const activation = readGemmaActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps, offset);
  return decoder(g, {
    modelType: 'gemma',
    config,
    norm,
    embeddingScale: Math.sqrt(hidden),
    layer(x, path) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation }),
      );
    },
  });
}
