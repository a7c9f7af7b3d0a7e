import { readDecoderConfig, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import { GraphBuilder, type ExpertWeights } from '../graph';
import { attention, headShape } from '../layers/attention';
import { decoder } from '../layers/decoder';
import { stackedExperts, type Experts, type ExpertShape } from '../layers/experts';
import { moe } from '../layers/moe';
import { rmsNorm } from '../layers/norm';
import { matrixRows, vectorRows } from '../layers/parts';
import { residual } from '../layers/residual';
import type { Program, RoutingSpec } from '../program';
import { ropeSpec } from '../rope';
import type { ModelFamily } from './family';
import { readCount, readTopK } from './moe_config';
import { readWindows } from './windows';

/**
 * gpt-oss (https://arxiv.org/abs/2508.10925): every other layer slides, attention sinks, biases everywhere, routed experts with
 * a clamped SwiGLU.
 */
export const gptOss: ModelFamily = { modelType: 'gpt_oss', build };

function build(reader: ConfigReader, tensors: TensorIndex): Program {
  const config = readDecoderConfig(reader, { headDim: 64, theta: 150_000 });
  const eps = readNormEpsilon(reader, 'rms_norm_eps', 1e-5);
  const bias = reader.bool('attention_bias', true);
  const windows = readWindows(reader, config.numLayers, (layer) => layer % 2 === 0);
  const routing = readRouting(reader);
  rejectOtherActivation(reader);
  const { hiddenSize: hidden } = config;
  const rope = ropeSpec(config.rope, config.headDim, 'half');

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  const shape = { experts: routing.experts, hidden, intermediate: config.intermediateSize };
  return decoder(g, {
    modelType: 'gpt_oss',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        attention(g, h, `${path}.self_attn`, {
          ...headShape(config),
          rope,
          sinks: true,
          window: windows[n] ?? null,
          qkvBias: bias,
          outputBias: bias,
        }),
      );
      const mlp = `${path}.mlp`;
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) =>
        moe(g, h, {
          hidden,
          routing,
          activation: 'swiglu_oai',
          experts: expertsOf(g, tensors, `${mlp}.experts`, shape),
          router: g.matrix(`${mlp}.router.weight`, routing.experts, hidden),
          routerBias: g.vector(`${mlp}.router.bias`, routing.experts),
        }),
      );
    },
  });
}

function readRouting(reader: ConfigReader): RoutingSpec {
  const experts = readCount(reader, 'num_local_experts');
  const topK = readTopK(reader, experts);
  const scores = 'softmax_of_chosen';
  return { experts, topK, scores, groups: null, normalize: false, factor: 1 };
}

/** The activation is fixed, whatever hidden_act says; other keys repeat what the rest of the file says. */
function rejectOtherActivation(reader: ConfigReader): void {
  reader.ignore('hidden_act', 'experts_per_token', 'initial_context_length');
  const limit = reader.float('swiglu_limit', { min: 0, max: 1e6 }, 7);
  if (limit !== 7) throw reader.error(`swiglu_limit ${limit}: expected 7`);
}

function expertsOf(
  g: GraphBuilder,
  tensors: TensorIndex,
  path: string,
  shape: ExpertShape,
): Experts {
  if (tensors.has(`${path}.gate_proj.weight`)) return biasedExperts(g, path, shape);
  const isCoded = tensors.has(`${path}.gate_up_proj_blocks`);
  return isCoded ? codedExperts(g, path, shape) : interleavedExperts(g, path, shape);
}

/** MLX: gate_proj, up_proj and down_proj [experts, rows, cols] with `.bias` [experts, rows]. */
function biasedExperts(g: GraphBuilder, path: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const { gate, up, down } = stackedExperts(g, path, shape);
  const biased = (part: ExpertWeights, name: string, rows: number): ExpertWeights => {
    const all = { start: 0, length: experts * rows };
    return { ...part, bias: vectorRows(g, `${path}.${name}.bias`, [experts, rows], all) };
  };
  return {
    gate: biased(gate, 'gate_proj', intermediate),
    up: biased(up, 'up_proj', intermediate),
    down: biased(down, 'down_proj', hidden),
  };
}

/** OpenAI: gate_up_proj [experts, 2 * intermediate, hidden], where gate and up rows alternate, and down_proj, in mxfp4. */
function codedExperts(g: GraphBuilder, path: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const wide = [experts, 2 * intermediate, hidden];
  const half = (start: number): ExpertWeights => {
    const runs = { start, length: 1, stride: 2, count: experts * intermediate };
    return {
      weights: [matrixRows(g, `${path}.gate_up_proj_blocks`, wide, runs)],
      bias: vectorRows(g, `${path}.gate_up_proj_bias`, wide.slice(0, 2), runs),
    };
  };
  const all = { start: 0, length: experts * hidden };
  const narrow = [experts, hidden, intermediate];
  return {
    gate: half(0),
    up: half(1),
    down: {
      weights: [matrixRows(g, `${path}.down_proj_blocks`, narrow, all)],
      bias: vectorRows(g, `${path}.down_proj_bias`, narrow.slice(0, 2), all),
    },
  };
}

/**
 * Hugging Face, dense: gate_up_proj [experts, hidden, 2 * intermediate], where gate and up columns alternate, and down_proj
 * [experts, intermediate, hidden]: both transposed.
 */
function interleavedExperts(g: GraphBuilder, path: string, shape: ExpertShape): Experts {
  const { experts, hidden, intermediate } = shape;
  const half = (start: number): ExpertWeights => {
    const runs = { start, length: 1, stride: 2, count: experts * intermediate };
    const part = { shape: [experts, hidden, 2 * intermediate], ...runs, transposed: true };
    return {
      weights: [g.matrix(`${path}.gate_up_proj`, runs.count, hidden, part)],
      bias: vectorRows(g, `${path}.gate_up_proj_bias`, [experts, 2 * intermediate], runs),
    };
  };
  const rows = experts * hidden;
  const all = { start: 0, length: rows, stride: rows, count: 1 };
  const part = { shape: [experts, intermediate, hidden], ...all, transposed: true };
  return {
    gate: half(0),
    up: half(1),
    down: {
      weights: [g.matrix(`${path}.down_proj`, rows, intermediate, part)],
      bias: vectorRows(g, `${path}.down_proj_bias`, [experts, hidden], all),
    },
  };
}
