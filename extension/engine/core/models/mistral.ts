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
import { readWindows } from './windows';

/** Mistral 7B, Codestral, Devstral: as Llama, with a sliding window on every layer in the older ones. */
export const mistral: ModelFamily = { modelType: 'mistral', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const windows = readWindows(reader, config.numLayers, () => reader.has('sliding_window'));
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'mistral',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          window: windows[n] ?? null,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation }),
      );
    },
  });
}
