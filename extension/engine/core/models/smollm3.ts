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

/** SmolLM3: as Llama; every fourth layer has no rotary embedding (NoPE). */
export const smollm3: ModelFamily = { modelType: 'smollm3', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader, { tieWordEmbeddings: true, theta: 2e6 });
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const mlpBias = reader.bool('mlp_bias', false);
  const isRotated = readRotatedLayers(reader, config.numLayers);
  const slides = reader.bool('use_sliding_window', false);
  const windows = readWindows(reader, config.numLayers, (layer) => slides && !isRotated(layer));
  reader.ignore('max_window_layers'); // the layers without rotary embedding slide
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  return decoder(g, {
    modelType: 'smollm3',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope: isRotated(n) ? rope : null,
          window: windows[n] ?? null,
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

/** no_rope_layers has, against its name, 1 for a layer with a rotary embedding. */
function readRotatedLayers(reader: ConfigReader, numLayers: number): (layer: number) => boolean {
  const interval = reader.int('no_rope_layer_interval', { min: 1, max: 1 << 20 }, 4);
  const flags = reader.optionalInts('no_rope_layers', { min: 0, max: 1 });
  if (flags === null) return (layer) => (layer + 1) % interval !== 0;
  if (flags.length < numLayers) {
    throw reader.error(`no_rope_layers has ${flags.length} entries, expected ${numLayers}`);
  }
  return (layer) => flags[layer] === 1;
}
