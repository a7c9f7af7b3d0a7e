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

/** OLMo 2 (https://arxiv.org/abs/2501.00656): no norm before a layer's parts but one after; q and k normed as whole rows. */
export const olmo2: ModelFamily = { modelType: 'olmo2', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'olmo2',
    config,
    norm,
    layer(x, path) {
      const mixed = residual(g, x, { post: norm(`${path}.post_attention_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          headNorm: { over: 'row', eps },
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      return residual(g, mixed, { post: norm(`${path}.post_feedforward_layernorm`) }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation }),
      );
    },
  });
}
