import { readActivation, readDecoderConfig, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import { GraphBuilder } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { mlp } from '../layers/mlp';
import { layerNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Program } from '../program';
import { ropeSpec } from '../rope';
import type { ModelFamily } from './family';
import { readWindows } from './windows';

/** StarCoder2 (https://arxiv.org/abs/2402.19173): layer norms, biases everywhere, a plain MLP, a sliding window. */
export const starcoder2: ModelFamily = { modelType: 'starcoder2', build };

function build(reader: ConfigReader): Program {
  const config = readDecoderConfig(reader, { tieWordEmbeddings: true });
  const eps = readNormEpsilon(reader, 'norm_epsilon', 1e-5);
  const activation = readActivation(reader, 'hidden_act', 'gelu_pytorch_tanh');
  const bias = reader.bool('use_bias', true);
  const windows = readWindows(reader, config.numLayers, () => reader.has('sliding_window'));
  // Alternatives that no published checkpoint takes.
  reader.oneOf('norm_type', ['layer_norm'], 'layer_norm');
  reader.oneOf('mlp_type', ['default'], 'default');
  // Of the class that its training used; no other one reads them.
  reader.ignore(
    'activation_function',
    'attention_softmax_in_fp32',
    'layer_norm_epsilon',
    'scale_attention_softmax_in_fp32',
    'scale_attn_weights',
  );
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => layerNorm(g, path, hidden, eps);
  return decoder(g, {
    modelType: 'starcoder2',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          window: windows[n] ?? null,
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        mlp(g, h, `${path}.mlp`, { hidden, intermediate, activation, bias }),
      );
    },
  });
}
