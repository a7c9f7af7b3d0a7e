import { readActivation, readDecoderConfig, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import { GraphBuilder } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { expertWeights } from '../layers/experts';
import { gatedMlp } from '../layers/mlp';
import { moe } from '../layers/moe';
import { rmsNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Program } from '../program';
import { ropeSpec } from '../rope';
import type { ModelFamily } from './family';
import { readQwenMoe, readSparseLayers } from './moe_config';
import { readWindows } from './windows';

/** Qwen3 mixture of experts (Qwen3-30B-A3B, Qwen3-Coder): as Qwen3, with routed experts in most layers. */
export const qwen3Moe: ModelFamily = { modelType: 'qwen3_moe', build };

function build(reader: ConfigReader, tensors: TensorIndex): Program {
  const config = readDecoderConfig(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const slides = reader.bool('use_sliding_window', false);
  const windows = readWindows(reader, config.numLayers, () => slides);
  const isSparse = readSparseLayers(reader);
  const { routing, intermediate: expertWidth } = readQwenMoe(reader, false);
  reader.ignore('max_window_layers', 'shared_expert_intermediate_size');
  if (!reader.bool('use_qk_norm', true)) throw reader.error('use_qk_norm false: expected true');
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  const shape = { experts: routing.experts, hidden, intermediate: expertWidth };
  return decoder(g, {
    modelType: 'qwen3_moe',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          headNorm: { over: 'head', eps },
          qkvBias: bias,
          outputBias: bias,
          window: windows[n] ?? null,
        }),
      );
      const mlp = `${path}.mlp`;
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        isSparse(n)
          ? moe(g, h, {
              hidden,
              routing,
              activation,
              experts: expertWeights(g, tensors, mlp, shape),
              router: g.matrix(`${mlp}.gate.weight`, routing.experts, hidden),
            })
          : gatedMlp(g, h, mlp, { hidden, intermediate, activation }),
      );
    },
  });
}
