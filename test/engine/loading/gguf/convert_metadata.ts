import type { JsonObject } from '../../../../extension/engine/loading/json_file';
import type { GgufForm } from './convert_values';
import { f32, flag, i32, text, u32, type Value } from './gguf_fixture';

type Metadata = Record<string, Value>;

/** The metadata that llama.cpp's converter writes for a config.json, and the frequency factors that it makes a tensor of. */
export function metadataOf(
  architecture: string,
  config: JsonObject,
  form: GgufForm,
): { readonly metadata: Metadata; readonly values: Float32Array | null } {
  const number = (key: string) => Number(config[key]);
  const keys: Record<string, Value | null> = {
    block_count: u32(number('num_hidden_layers') + (form === 'layers ahead' ? 1 : 0)),
    ...(form === 'layers ahead' && { nextn_predict_layers: u32(1) }),
    context_length: u32(number('max_position_embeddings')),
    embedding_length: u32(number('hidden_size')),
    feed_forward_length: u32(number('intermediate_size')),
    'attention.head_count': u32(number('num_attention_heads')),
    'attention.head_count_kv': u32(
      Number(config.num_key_value_heads ?? config.num_attention_heads),
    ),
    ...(config.rms_norm_eps !== undefined && {
      'attention.layer_norm_rms_epsilon': f32(number('rms_norm_eps')),
    }),
    ...(config.norm_epsilon !== undefined && {
      'attention.layer_norm_epsilon': f32(number('norm_epsilon')),
    }),
    ...(typeof config.head_dim === 'number' && {
      'attention.key_length': u32(number('head_dim')),
      'attention.value_length': u32(number('head_dim')),
    }),
    ...ropeKeys(ropeOf(config)),
    ...ownKeys(architecture, config, form),
  };
  const own = Object.entries(keys).filter((entry): entry is [string, Value] => entry[1] !== null);
  const metadata: Metadata = {
    'general.architecture': text(architecture),
    'general.name': text(`test ${architecture}`),
    ...Object.fromEntries(own.map(([key, value]) => [`${architecture}.${key}`, value])),
  };
  return { metadata, values: llama3Factors(config) };
}

/** The rotary embedding of the full layers. */
function ropeOf(config: JsonObject): JsonObject {
  const rope = (config.rope_parameters ?? {}) as JsonObject;
  return (rope.full_attention ?? rope) as JsonObject;
}

function ropeKeys(rope: JsonObject): Record<string, Value> {
  const scaled = rope.rope_type === 'linear' || rope.rope_type === 'yarn';
  return {
    ...(rope.rope_theta !== undefined && { 'rope.freq_base': f32(Number(rope.rope_theta)) }),
    ...(scaled && {
      'rope.scaling.type': text(String(rope.rope_type)),
      'rope.scaling.factor': f32(Number(rope.factor)),
    }),
    ...(rope.rope_type === 'yarn' && {
      'rope.scaling.original_context_length': u32(Number(rope.original_max_position_embeddings)),
    }),
    ...(rope.mscale_all_dim !== undefined && {
      'rope.scaling.yarn_log_multiplier': f32(0.1 * Number(rope.mscale_all_dim)),
    }),
  };
}

function ownKeys(
  architecture: string,
  config: JsonObject,
  form: GgufForm,
): Record<string, Value | null> {
  const number = (key: string) => Number(config[key]);
  const headDim = Number(config.head_dim ?? number('hidden_size') / number('num_attention_heads'));
  const rope = ropeOf(config);
  const rotated = headDim * Number(rope.partial_rotary_factor ?? 1);
  const window = { 'attention.sliding_window': u32(Number(config.sliding_window ?? 0)) };
  switch (architecture) {
    case 'llama':
    case 'smollm3':
      return { vocab_size: u32(number('vocab_size')), 'rope.dimension_count': u32(headDim) };
    case 'granite':
      return {
        'rope.dimension_count': u32(headDim),
        'attention.scale': f32(number('attention_multiplier')),
        embedding_scale: f32(number('embedding_multiplier')),
        residual_scale: f32(number('residual_multiplier')),
        logit_scale: f32(number('logits_scaling')),
      };
    case 'gemma2':
      return {
        ...window,
        attn_logit_softcapping: f32(number('attn_logit_softcapping')),
        final_logit_softcapping: f32(number('final_logit_softcapping')),
      };
    case 'gemma3':
      return { ...window, 'attention.sliding_window_pattern': u32(2) };
    case 'phi3':
      return {
        ...window,
        'rope.dimension_count': u32(rotated),
        'rope.scaling.original_context_length': u32(number('original_max_position_embeddings')),
      };
    case 'starcoder2':
      return window;
    case 'glm4':
      return { 'rope.dimension_count': u32(headDim * number('partial_rotary_factor')) };
    case 'qwen3moe':
      return {
        expert_count: u32(number('num_local_experts')),
        expert_used_count: u32(number('num_experts_per_tok')),
        expert_feed_forward_length: u32(number('moe_intermediate_size')),
      };
    case 'gpt-oss':
      return {
        ...window,
        expert_count: u32(number('num_local_experts')),
        expert_used_count: u32(number('num_experts_per_tok')),
        expert_feed_forward_length: u32(number('intermediate_size')),
      };
    case 'deepseek2':
      return deepseekKeys(config, form);
    case 'qwen3next':
    case 'qwen35':
    case 'qwen35moe':
      return hybridKeys(architecture, config, rotated);
    default:
      return {};
  }
}

function deepseekKeys(config: JsonObject, form: GgufForm): Record<string, Value | null> {
  const number = (key: string) => Number(config[key]);
  const rotated = number('qk_rope_head_dim');
  return {
    vocab_size: u32(number('vocab_size')),
    ...(form === 'whole latent' ? wholeLatentKeys(config) : splitLatentKeys(config)),
    'attention.kv_lora_rank': u32(number('kv_lora_rank')),
    'attention.q_lora_rank':
      typeof config.q_lora_rank === 'number' ? u32(number('q_lora_rank')) : null,
    'rope.dimension_count': u32(rotated),
    leading_dense_block_count: u32(number('first_k_dense_replace')),
    expert_count: u32(number('n_routed_experts')),
    expert_used_count: u32(number('num_experts_per_tok')),
    expert_shared_count: u32(number('n_shared_experts')),
    expert_feed_forward_length: u32(number('moe_intermediate_size')),
    expert_weights_scale: f32(number('routed_scaling_factor')),
    expert_weights_norm: flag(config.norm_topk_prob === true),
    expert_group_count: u32(number('n_group')),
    expert_group_used_count: u32(number('topk_group')),
  };
}

function wholeLatentKeys(config: JsonObject): Metadata {
  const number = (key: string) => Number(config[key]);
  return {
    'attention.key_length': u32(number('qk_nope_head_dim') + number('qk_rope_head_dim')),
    'attention.value_length': u32(number('v_head_dim')),
  };
}

/** For a cache of latents, which is one wide head; `_mla` has the model's own. */
function splitLatentKeys(config: JsonObject): Metadata {
  const number = (key: string) => Number(config[key]);
  const whole = wholeLatentKeys(config);
  return {
    'attention.head_count_kv': u32(1),
    'attention.key_length': u32(number('kv_lora_rank') + number('qk_rope_head_dim')),
    'attention.value_length': u32(number('kv_lora_rank')),
    ...Object.fromEntries(Object.entries(whole).map(([key, value]) => [`${key}_mla`, value])),
  };
}

function hybridKeys(architecture: string, config: JsonObject, rotated: number): Metadata {
  const number = (key: string) => Number(config[key]);
  const valueHeads = number('linear_num_value_heads');
  return {
    'ssm.conv_kernel': u32(number('linear_conv_kernel_dim')),
    'ssm.state_size': u32(number('linear_key_head_dim')),
    'ssm.group_count': u32(number('linear_num_key_heads')),
    'ssm.time_step_rank': u32(valueHeads),
    'ssm.inner_size': u32(number('linear_value_head_dim') * valueHeads),
    full_attention_interval: u32(2),
    'rope.dimension_count': u32(rotated),
    ...(architecture !== 'qwen3next' && { 'rope.dimension_sections': i32([11, 11, 10, 0]) }),
    ...(architecture !== 'qwen35' && {
      expert_count: u32(number('num_experts')),
      expert_used_count: u32(number('num_experts_per_tok')),
      expert_feed_forward_length: u32(number('moe_intermediate_size')),
      expert_shared_feed_forward_length: u32(number('shared_expert_intermediate_size')),
    }),
  };
}

/** Divisors of the frequencies, by the definition of Llama 3.1's scaling in wavelengths. */
function llama3Factors(config: JsonObject): Float32Array | null {
  const rope = ropeOf(config);
  if (rope.rope_type !== 'llama3') return null;
  const factor = Number(rope.factor);
  const [low, high] = [Number(rope.low_freq_factor), Number(rope.high_freq_factor)];
  const original = Number(rope.original_max_position_embeddings);
  const dim = Number(config.head_dim);
  return Float32Array.from({ length: dim / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * Number(rope.rope_theta) ** ((2 * i) / dim);
    if (wavelength < original / high) return 1;
    if (wavelength > original / low) return factor;
    const smooth = (original / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}
