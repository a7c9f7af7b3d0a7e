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

/** Phi-3, Phi-3.5 and Phi-4: as Llama, with q, k, v in one tensor and gate, up in another. */
export const phi3: ModelFamily = { modelType: 'phi3', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader, 'rms_norm_eps', 1e-5);
  const activation = readActivation(reader);
  const windows = readWindows(reader, config.numLayers, () => reader.has('sliding_window'));
  // Phi-4-mini names what only its larger relatives vary.
  for (const key of ['full_attn_mod', 'interpolate_factor']) reader.int(key, { min: 1, max: 1 }, 1);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'phi3',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          layout: 'fused',
          window: windows[n] ?? null,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        gatedMlp(g, h, `${path}.mlp`, { hidden, intermediate, activation, fusedGateUp: true }),
      );
    },
  });
}
