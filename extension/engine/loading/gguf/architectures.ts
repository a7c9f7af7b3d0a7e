import { unsupportedModel } from '../bad_model';
import type { ConfigReader } from '../config_reader';
import type { JsonObject } from '../json_file';
import { HYBRID_NAMES, type LayerNames } from './names';
import type { GgufRopeDefaults } from './rope';

/** What an architecture may ask of a file before its weights are read. */
export interface GgufContents {
  /** `general.architecture`'s own keys, without the prefix. */
  readonly meta: ConfigReader;
  readonly layers: number;
  readonly hasTensor: (name: string) => boolean;
  /** Row-major; null when there is no such tensor. */
  readonly shapeOf: (name: string) => readonly number[] | null;
}

/** How one `general.architecture` maps to a family of core/models and its config.json. */
export interface Architecture {
  readonly modelType: string;
  /** Keys of config.json beyond the common ones. */
  readonly config: (file: GgufContents) => JsonObject;
  readonly names?: LayerNames;
  /** What no key of the format says of its rotary embedding. */
  readonly rope?: GgufRopeDefaults;
}

const COUNT = { min: 0, max: 1 << 20 };
const POSITIVE = { min: 1e-6, max: 1e6 };
const WINDOW = { min: 0, max: 1 << 26 };

const SANDWICH_NORMS: LayerNames = {
  ffn_norm: 'pre_feedforward_layernorm',
};

/** Rows of queries and keys are reordered so that the pairs of the rotary embedding are neighbours. */
const INTERLEAVED = { rope_interleave: true };

const hasBias = ({ hasTensor }: GgufContents, stem: string) => hasTensor(`blk.0.${stem}.bias`);
const attentionBias = (file: GgufContents) => ({ attention_bias: hasBias(file, 'attn_q') });
const biases = (file: GgufContents) => ({
  ...attentionBias(file),
  mlp_bias: hasBias(file, 'ffn_up'),
});

/** A sliding window of 0 tokens is none. */
function window({ meta }: GgufContents): JsonObject {
  const size = meta.optionalInt('attention.sliding_window', WINDOW) ?? 0;
  return size === 0 ? {} : { sliding_window: size };
}

/** Layers that have the tensor `blk.N.stem.weight`. */
function layersWith({ layers, hasTensor }: GgufContents, stem: string): number[] {
  const all = Array.from({ length: layers }, (_, layer) => layer);
  return all.filter((layer) => hasTensor(`blk.${layer}.${stem}.weight`));
}

/** The queries' multiplier, which is no key of the file: the largest models scale by the width of hidden / heads. */
function gemmaScale({ meta, layers }: GgufContents, largest: number): JsonObject {
  if (layers !== largest) return { query_pre_attn_scalar: meta.int('attention.key_length', COUNT) };
  const hidden = meta.int('embedding_length', COUNT);
  return { query_pre_attn_scalar: hidden / meta.int('attention.head_count', COUNT) };
}

/** Converters add the 1 to Gemma's norm weights. */
const GEMMA = { hidden_activation: 'gelu_pytorch_tanh', rms_norm_offset: 0 };

function gemma3(file: GgufContents): JsonObject {
  const { meta, layers } = file;
  const own = window(file);
  return {
    ...GEMMA,
    ...own,
    ...gemmaScale(file, 62),
    ...(own.sliding_window === undefined
      ? { layer_types: Array<string>(layers).fill('full_attention') }
      : gemma3Pattern(file)),
    ...gemma3Rope(meta),
    final_logit_softcapping: meta.optionalFloat('final_logit_softcapping', POSITIVE),
  };
}

/** Every so many layers one is global, or a list says which slide. */
function gemma3Pattern({ meta }: GgufContents): JsonObject {
  const key = 'attention.sliding_window_pattern';
  const list = meta.values[key];
  if (!Array.isArray(list))
    return { sliding_window_pattern: meta.int(key, { min: 1, max: 1 << 20 }, 6) };
  meta.ignore(key);
  const typeOf = (slides: unknown) => (slides === true ? 'sliding_attention' : 'full_attention');
  return { layer_types: list.map(typeOf) };
}

/** Ollama's converter has names of its own, and leaves out that all but the smallest model stretch positions by 8. */
function gemma3Rope(meta: ConfigReader): JsonObject {
  const theta = { min: 1, max: 1e12 };
  const local = meta.optionalFloat('rope.local.freq_base', theta);
  const global = meta.optionalFloat('rope.global.freq_base', theta);
  const context = meta.int('context_length', { min: 1, max: 1 << 26 });
  const isBare = !meta.has('rope.scaling.type') && !meta.has('rope.scaling.factor');
  return {
    rope_local_base_freq: meta.float('rope.freq_base_swa', theta, local ?? 10_000),
    ...(global !== null && !meta.has('rope.freq_base') && { rope_theta: global }),
    ...(isBare && context >= 131_072 && { rope_scaling: { rope_type: 'linear', factor: 8 } }),
  };
}

/** Routed experts of some or all layers. */
function qwenMoe(file: GgufContents): JsonObject {
  const { meta, layers } = file;
  const ollamaNorm = meta.bool('norm_top_k_prob', true);
  const sparse = new Set(layersWith(file, 'ffn_gate_inp'));
  const dense = Array.from({ length: layers }, (_, layer) => layer).filter((n) => !sparse.has(n));
  return {
    num_experts: meta.int('expert_count', COUNT),
    num_experts_per_tok: meta.int('expert_used_count', COUNT),
    moe_intermediate_size: expertWidth(file),
    norm_topk_prob: meta.bool('expert_weights_norm', ollamaNorm),
    mlp_only_layers: dense,
  };
}

/** Inner width of an expert; Ollama's converter leaves it to the tensors. */
function expertWidth({ meta, layers, shapeOf }: GgufContents): number {
  const names = Array.from({ length: layers }, (_, n) => `blk.${n}.ffn_gate_exps.weight`);
  const [shape] = names.map(shapeOf).filter((found) => found !== null);
  return meta.int('expert_feed_forward_length', COUNT, shape?.at(-2));
}

function sharedMoe(file: GgufContents): JsonObject {
  const width = file.meta.int('expert_shared_feed_forward_length', COUNT);
  return { ...qwenMoe(file), shared_expert_intermediate_size: width };
}

/** Gated DeltaNet, whose keys are those of state space models; every so many layers have attention instead. */
function hybrid({ meta, layers, hasTensor }: GgufContents): JsonObject {
  const valueHeads = meta.int('ssm.time_step_rank', COUNT);
  const linear = Array.from({ length: layers }, (_, n) => hasTensor(`blk.${n}.ssm_out.weight`));
  // Text has the same position in all sections of a rotary embedding for pictures.
  meta.ignore('full_attention_interval', 'rope.dimension_sections');
  if (!meta.bool('ssm.v_head_reordered', true)) throw meta.error('ssm.v_head_reordered false');
  return {
    hidden_act: 'silu',
    rms_norm_offset: 0,
    layer_types: linear.map((isLinear) => (isLinear ? 'linear_attention' : 'full_attention')),
    attention_bias: linear.some((_, n) => hasTensor(`blk.${n}.attn_q.bias`)),
    linear_num_key_heads: meta.int('ssm.group_count', COUNT),
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: meta.int('ssm.state_size', COUNT),
    linear_value_head_dim: meta.int('ssm.inner_size', COUNT) / valueHeads,
    linear_conv_kernel_dim: meta.int('ssm.conv_kernel', COUNT),
  };
}

/** Converters of Qwen3.5 put the value heads in an order in which key heads take turns. */
const TILED = { linear_value_head_order: 'tiled' };

function gptOss(file: GgufContents): JsonObject {
  const { meta } = file;
  return {
    ...window(file),
    ...attentionBias(file),
    intermediate_size: expertWidth(file),
    num_local_experts: meta.int('expert_count', COUNT),
    num_experts_per_tok: meta.int('expert_used_count', COUNT),
  };
}

function deepseek2({ meta }: GgufContents): JsonObject {
  // Files whose latent projection is split say with which heads they are to be cached, and then those of the model.
  const isSplit = meta.has('attention.key_length_mla');
  if (isSplit) meta.ignore('attention.key_length', 'attention.value_length');
  const width = (key: 'key_length' | 'value_length') =>
    meta.int(`attention.${key}${isSplit ? '_mla' : ''}`, COUNT);
  const rope = meta.int('rope.dimension_count', COUNT);
  const groups = meta.optionalInt('expert_group_count', COUNT) ?? 1;
  const kept = meta.optionalInt('expert_group_used_count', COUNT) ?? 1;
  return {
    // One shared head is what the cache of the split form has.
    ...(isSplit && { num_key_value_heads: meta.int('attention.head_count', COUNT) }),
    qk_nope_head_dim: width('key_length') - rope,
    qk_rope_head_dim: rope,
    v_head_dim: width('value_length'),
    kv_lora_rank: meta.int('attention.kv_lora_rank', COUNT),
    q_lora_rank: meta.optionalInt('attention.q_lora_rank', COUNT),
    first_k_dense_replace: meta.int('leading_dense_block_count', COUNT, 0),
    moe_intermediate_size: meta.int('expert_feed_forward_length', COUNT),
    n_routed_experts: meta.int('expert_count', COUNT),
    n_shared_experts: meta.int('expert_shared_count', COUNT, 0),
    num_experts_per_tok: meta.int('expert_used_count', COUNT),
    routed_scaling_factor: meta.float('expert_weights_scale', POSITIVE, 1),
    norm_topk_prob: meta.bool('expert_weights_norm', false),
    topk_method: groups > 1 ? 'group_limited_greedy' : 'greedy',
    n_group: groups,
    topk_group: kept,
    scoring_func: meta.int('expert_gating_func', COUNT, 1) === 1 ? 'softmax' : 'sigmoid',
  };
}

function llama(file: GgufContents): JsonObject {
  const experts = file.meta.optionalInt('expert_count', COUNT) ?? 0;
  file.meta.ignore('expert_used_count');
  if (experts > 0) {
    throw unsupportedModel(
      file.meta.file,
      `llama.expert_count ${experts}: Mixtral is not supported, expected no experts`,
    );
  }
  return { ...biases(file), ...INTERLEAVED, hidden_act: 'silu' };
}

function granite(file: GgufContents): JsonObject {
  const { meta } = file;
  const multiplier = (key: string, fallback = 1) => meta.float(key, POSITIVE, fallback);
  const headDim = meta.int('embedding_length', COUNT) / meta.int('attention.head_count', COUNT);
  return {
    ...biases(file),
    ...INTERLEAVED,
    hidden_act: 'silu',
    attention_multiplier: multiplier('attention.scale', 1 / Math.sqrt(headDim)),
    embedding_multiplier: multiplier('embedding_scale'),
    residual_multiplier: multiplier('residual_scale'),
    logits_scaling: multiplier('logit_scale'),
  };
}

const silu = { hidden_act: 'silu' };

const GPT_OSS: Architecture = {
  modelType: 'gpt_oss',
  config: gptOss,
  rope: { yarnTruncate: false, scaling: 'yarn' },
  names: {
    attn_out: 'self_attn.o_proj',
    ffn_gate_inp: 'mlp.router',
    ffn_gate_exps: 'mlp.experts.gate_proj',
    ffn_up_exps: 'mlp.experts.up_proj',
    ffn_down_exps: 'mlp.experts.down_proj',
  },
};

/** By `general.architecture`. */
export const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  llama: { modelType: 'llama', config: llama },
  qwen2: { modelType: 'qwen2', config: () => silu },
  qwen3: { modelType: 'qwen3', config: (file) => ({ ...silu, ...attentionBias(file) }) },
  qwen3moe: {
    modelType: 'qwen3_moe',
    config: (file) => {
      const shared = file.meta.int('expert_shared_feed_forward_length', COUNT, 0);
      if (shared > 0)
        throw file.meta.error(`expert_shared_feed_forward_length ${shared}: expected 0`);
      return { ...silu, ...attentionBias(file), ...qwenMoe(file) };
    },
  },
  qwen3next: {
    modelType: 'qwen3_next',
    config: (file) => ({ ...hybrid(file), ...sharedMoe(file) }),
    names: HYBRID_NAMES,
  },
  qwen35: {
    modelType: 'qwen3_5_text',
    config: (file) => ({ ...hybrid(file), ...TILED }),
    names: HYBRID_NAMES,
  },
  qwen35moe: {
    modelType: 'qwen3_5_moe_text',
    config: (file) => ({ ...hybrid(file), ...TILED, ...sharedMoe(file) }),
    names: HYBRID_NAMES,
  },
  gemma: { modelType: 'gemma', config: () => GEMMA },
  gemma2: {
    modelType: 'gemma2',
    config: (file) => ({
      ...GEMMA,
      ...gemmaScale(file, 46),
      sliding_window: file.meta.int('attention.sliding_window', WINDOW, 4096),
      attn_logit_softcapping: file.meta.float('attn_logit_softcapping', POSITIVE, 50),
      final_logit_softcapping: file.meta.float('final_logit_softcapping', POSITIVE, 30),
    }),
    names: SANDWICH_NORMS,
  },
  gemma3: { modelType: 'gemma3_text', config: gemma3, names: SANDWICH_NORMS },
  phi3: {
    modelType: 'phi3',
    config: (file) => ({ ...silu, ...window(file) }),
    names: { ffn_up: 'mlp.gate_up_proj' },
  },
  starcoder2: {
    modelType: 'starcoder2',
    config: (file) => ({
      hidden_act: 'gelu_pytorch_tanh',
      use_bias: hasBias(file, 'attn_q'),
      ...window(file),
    }),
    names: { ffn_up: 'mlp.c_fc', ffn_down: 'mlp.c_proj' },
  },
  granite: { modelType: 'granite', config: granite },
  smollm3: {
    modelType: 'smollm3',
    config: (file) => ({ ...silu, ...biases(file), ...INTERLEAVED }),
  },
  olmo2: { modelType: 'olmo2', config: (file) => ({ ...silu, ...attentionBias(file) }) },
  glm4: {
    modelType: 'glm4',
    config: (file) => ({ ...silu, ...attentionBias(file) }),
    names: {
      post_attention_norm: 'post_self_attn_layernorm',
      post_ffw_norm: 'post_mlp_layernorm',
      ffn_up: 'mlp.gate_up_proj',
    },
  },
  'gpt-oss': GPT_OSS,
  gptoss: GPT_OSS, // Ollama's
  deepseek2: { modelType: 'deepseek_v2', config: (file) => ({ ...silu, ...deepseek2(file) }) },
};

/** The `general.architecture` names that this engine runs. */
export function ggufArchitectures(): string[] {
  return Object.keys(ARCHITECTURES).sort();
}
