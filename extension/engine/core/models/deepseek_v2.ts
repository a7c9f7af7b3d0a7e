import { readActivation, readDecoderShape, readNormEpsilon } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import { readRope, type RopeConfig } from '../../loading/rope_config';
import type { TensorIndex } from '../../loading/weights';
import { GraphBuilder } from '../graph';
import { decoder } from '../layers/decoder';
import { expertWeights } from '../layers/experts';
import { latentAttention } from '../layers/latent_attention';
import { gatedMlp } from '../layers/mlp';
import { moe } from '../layers/moe';
import { rmsNorm } from '../layers/norm';
import { residual } from '../layers/residual';
import type { Program, RoutingSpec } from '../program';
import { ropeSpec } from '../rope';
import type { ModelFamily } from './family';
import { readCount, readTopK, readWidth } from './moe_config';

/** DeepSeek-V2 (https://arxiv.org/abs/2405.04434): latent attention, routed and shared experts after the first layers. */
export const deepseekV2: ModelFamily = { modelType: 'deepseek_v2', build };

function build(reader: ConfigReader, tensors: TensorIndex): Program {
  const config = readDecoderShape(reader);
  const eps = readNormEpsilon(reader);
  const activation = readActivation(reader);
  const bias = reader.bool('attention_bias', false);
  const heads = readHeads(reader);
  const rope = readRope(reader, config.contextLength);
  const firstSparse = reader.int('first_k_dense_replace', { min: 0, max: 1 << 20 }, 0);
  const routing = readRouting(reader);
  const expertWidth = readWidth(reader, 'moe_intermediate_size');
  const sharedCount = reader.int('n_shared_experts', { min: 0, max: 1024 }, 0);
  ignoreTraining(reader);
  const { hiddenSize: hidden, intermediateSize: intermediate } = config;
  const keyDim = heads.nopeDim + heads.ropeDim;

  const g = new GraphBuilder();
  const norm = (path: string) => rmsNorm(g, `${path}.weight`, hidden, eps);
  const shape = { experts: routing.experts, hidden, intermediate: expertWidth };
  const attention = {
    hidden,
    heads: config.numHeads,
    ...heads,
    eps,
    bias,
    rope: ropeSpec(rope, heads.ropeDim, 'interleaved'),
    scale: yarnTemperature(rope) / Math.sqrt(keyDim),
  };
  return decoder(g, {
    modelType: 'deepseek_v2',
    config,
    norm,
    layer(x, path, n) {
      const mixed = residual(g, x, { pre: norm(`${path}.input_layernorm`) }, (h) =>
        latentAttention(g, tensors, h, `${path}.self_attn`, attention),
      );
      const mlp = `${path}.mlp`;
      return residual(g, mixed, { pre: norm(`${path}.post_attention_layernorm`) }, (h) => {
        if (n < firstSparse) return gatedMlp(g, h, mlp, { hidden, intermediate, activation });
        const shared = { path: `${mlp}.shared_experts`, intermediate: sharedCount * expertWidth };
        return moe(g, h, {
          hidden,
          routing,
          activation,
          experts: expertWeights(g, tensors, mlp, shape),
          router: g.matrix(`${mlp}.gate.weight`, routing.experts, hidden),
          ...(sharedCount > 0 && { shared }),
        });
      });
    },
  });
}

function readHeads(reader: ConfigReader) {
  const dim = { min: 2, max: 1024 };
  const rank = { min: 1, max: 1 << 16 };
  const [nopeDim, ropeDim] = [
    reader.int('qk_nope_head_dim', dim),
    reader.int('qk_rope_head_dim', dim),
  ];
  reader.ignore('qk_head_dim'); // the sum of both
  return {
    nopeDim,
    ropeDim,
    valueDim: reader.int('v_head_dim', dim),
    kvRank: reader.int('kv_lora_rank', rank),
    queryRank: reader.optionalInt('q_lora_rank', rank),
  };
}

function readRouting(reader: ConfigReader): RoutingSpec {
  const experts = readCount(reader, 'n_routed_experts');
  const method = reader.oneOf('topk_method', ['greedy', 'group_limited_greedy'], 'greedy');
  const count = reader.int('n_group', { min: 1, max: experts }, 1);
  const kept = reader.int('topk_group', { min: 1, max: count }, 1);
  if (experts % count !== 0) {
    throw reader.error(`n_routed_experts ${experts} is not a multiple of n_group ${count}`);
  }
  if (reader.bool('norm_topk_prob', false)) {
    throw reader.error('norm_topk_prob true: expected false for deepseek_v2');
  }
  return {
    experts,
    topK: readTopK(reader, experts),
    scores: reader.oneOf('scoring_func', ['softmax'], 'softmax'),
    groups: method === 'greedy' ? null : { count, kept, rank: 'max' },
    normalize: false,
    factor: reader.float('routed_scaling_factor', { min: 1e-6, max: 1e6 }, 1),
  };
}

/** YaRN's temperature on the scores, once for queries and once for keys; what is not on cos and sin already. */
function yarnTemperature(rope: RopeConfig): number {
  if (rope.type !== 'yarn' || rope.mscaleAllDim === 0 || rope.factor <= 1) return 1;
  return (0.1 * rope.mscaleAllDim * Math.log(rope.factor) + 1) ** 2;
}

function ignoreTraining(reader: ConfigReader): void {
  reader.ignore('aux_loss_alpha', 'seq_aux', 'ep_size');
  const every = reader.int('moe_layer_freq', { min: 1, max: 1024 }, 1);
  if (every !== 1) throw reader.error(`moe_layer_freq ${every}: expected 1`);
}
