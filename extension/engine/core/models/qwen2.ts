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
import { readQwenWindows } from './windows';

/** Qwen2 and Qwen2.5 (Coder): as Llama, with biases on the q, k and v projections. */
export const qwen2: ModelFamily = { modelType: 'qwen2', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  reader.ignore('rotary_emb_base', 'seq_length'); // CodeQwen1.5 repeats rope_theta and the context
  const windows = readQwenWindows(reader, config.numLayers);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'qwen2',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          qkvBias: true,
          window: windows[n] ?? null,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation }),
      );
    },
  });
}
