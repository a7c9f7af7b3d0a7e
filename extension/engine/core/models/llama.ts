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

/** Llama 1 to 3 and what shares its form: Mellum, CodeLlama, DeepSeek-Coder, Yi, SmolLM2. */
export const llama: ModelFamily = { modelType: 'llama', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const mlpBias = reader.bool('mlp_bias', false);
  reader.ignore('is_llama_config'); // SmolLM2's
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'llama',
    config,
    norm,
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
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation, bias: mlpBias }),
      );
    },
  });
}
