import { readActivation, readDecoderConfig, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import { GraphBuilder } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { gatedDeltaNet, type GatedDeltaNetSpec } from '../layers/gated_delta_net';
import { rmsNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Activation, Program, StateLayerSpec, ValueId } from '../program';
import { ropeSpec } from '../rope';

export interface HybridSpec {
  readonly modelType: string;
  readonly layout: GatedDeltaNetSpec['layout'];
  /** False when every layer has experts; intermediate_size may be missing then. */
  readonly hasDenseLayers: boolean;
  /** The feed-forward part of layer `index`, whose tensors are called `path`.…; hidden is x's width. */
  readonly feedForward: (
    g: GraphBuilder,
    x: ValueId,
    path: string,
    layer: { index: number; hidden: number; intermediate: number; activation: Activation },
  ) => ValueId;
}

/**
 * Qwen3-Next and Qwen3.5: three Gated DeltaNet layers to one of gated attention, norm weights stored less 1, a quarter
 * of every head rotated. They differ in the feed-forward part and in how the input projections are stored.
 */
export function buildHybrid(
  reader: ConfigReader,
  tensors: TensorIndex,
  { modelType, layout, hasDenseLayers, feedForward }: HybridSpec,
): Program {
  const config = readDecoderConfig(reader, {
    headDim: 256,
    rotaryFraction: 0.25,
    ...(!hasDenseLayers && { intermediateSize: 1 }),
  });
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  if (activation !== 'silu') throw reader.error(`hidden_act: expected silu for ${modelType}`);
  const bias = reader.bool('attention_bias', false);
  const isLinear = readLinearLayers(reader, config.numLayers);
  const delta = readDeltaSpec(reader);
  readFixedKeys(reader);
  tensors.ignore(/^mtp\./); // the head that predicts several tokens is for speculation
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');
  const offset = readNormOffset(reader, tensors);

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps, offset);
  return decoder(g, {
    modelType,
    config,
    norm,
    layer(x, path, index) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        isLinear(index)
          ? gatedDeltaNet(g, tensors, h, `${path}.linear_attn`, { ...delta, hidden, eps, layout })
          : attention(g, h, `${path}.self_attn`, {
              ...headShape(config),
              rope,
              layout: 'gated',
              headNorm: { over: 'head', eps, offset },
              qkvBias: bias,
              outputBias: bias,
            }),
      );
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        feedForward(g, h, `${path}.mlp`, { index, hidden, intermediate, activation }),
      );
    },
  });
}

/** MLX stores these norm weights with the 1 added, and shows it by the order of the convolution's axes; GGUF says so. */
function readNormOffset(reader: ConfigReader, tensors: TensorIndex): number {
  const conv = tensors.shape('model.layers.0.linear_attn.conv1d.weight');
  const fallback = conv !== null && conv.at(-1) === 1 ? 0 : 1;
  return reader.float('rms_norm_offset', { min: 0, max: 1 }, fallback);
}

function readLinearLayers(reader: ConfigReader, numLayers: number): (layer: number) => boolean {
  const period = reader.int('full_attention_interval', { min: 1, max: 1 << 20 }, 4);
  const types = reader.optionalList('layer_types', ['linear_attention', 'full_attention']);
  if (types === null) return (layer) => (layer + 1) % period !== 0;
  if (types.length !== numLayers) {
    throw reader.error(`layer_types has ${types.length} entries, expected ${numLayers}`);
  }
  return (layer) => types[layer] === 'linear_attention';
}

function readDeltaSpec(reader: ConfigReader): StateLayerSpec {
  const size = { min: 1, max: 1024 };
  const keyHeads = reader.int('linear_num_key_heads', size);
  const valueHeads = reader.int('linear_num_value_heads', size);
  if (valueHeads % keyHeads !== 0) {
    throw reader.error(
      `linear_num_value_heads ${valueHeads} is not a multiple of linear_num_key_heads ${keyHeads}`,
    );
  }
  return {
    keyHeads,
    valueHeads,
    keyDim: reader.int('linear_key_head_dim', size),
    valueDim: reader.int('linear_value_head_dim', size),
    taps: reader.int('linear_conv_kernel_dim', { min: 2, max: 16 }, 4),
    tiled: reader.oneOf('linear_value_head_order', ['grouped', 'tiled'], 'grouped') === 'tiled',
  };
}

function readFixedKeys(reader: ConfigReader): void {
  if (!reader.bool('attn_output_gate', true)) {
    throw reader.error('attn_output_gate false: expected true');
  }
  reader.ignore('mamba_ssm_dtype', 'mtp_num_hidden_layers', 'mtp_use_dedicated_embeddings');
}
