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

/** GLM-4 (0414): half of every head rotates, in neighbouring pairs; norms before and after each part. */
export const glm4: ModelFamily = { modelType: 'glm4', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader, { headDim: 128, rotaryFraction: 0.5 });
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', true);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'interleaved');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'glm4',
    config,
    norm,
    layer(x, path) {
      const mixed = residual(
        g,
        x,
        { pre: norm(`${path}.input_layernorm`), post: norm(`${path}.post_self_attn_layernorm`) },
        (h) => attention(g, h, `${path}.self_attn`, { ...headShape(config), rope, qkvBias: bias }),
      );
      return residual(
        g,
        mixed,
        { pre: norm(`${path}.post_attention_layernorm`), post: norm(`${path}.post_mlp_layernorm`) },
        (h) =>
          gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation, fusedGateUp: true }),
      );
    },
  });
}
