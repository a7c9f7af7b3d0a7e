import { readActivation, readDecoderConfig, readNormEpsilon } from '../../loading/config';
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

/** Granite 3: as Llama, with a multiplier on embeddings, attention scores, residual branches and logits. */
export const granite: ModelFamily = { modelType: 'granite', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const mlpBias = reader.bool('mlp_bias', false);
  const multiplier = (key: string) => reader.float(key, { min: 1e-6, max: 1e6 }, 1);
  const scale = multiplier('attention_multiplier');
  const factor = multiplier('residual_multiplier');
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'granite',
    config,
    norm,
    embeddingScale: multiplier('embedding_multiplier'),
    logitScale: 1 / multiplier('logits_scaling'),
    layer(x, path) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`), factor }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          scale,
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`), factor }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation, bias: mlpBias }),
      );
    },
  });
}
