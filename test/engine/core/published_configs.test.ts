import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fuse } from '../../../extension/engine/core/fuse';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import type { Program } from '../../../extension/engine/core/program';
import { readModelConfig } from '../../../extension/engine/loading/config';
import type { TensorIndex } from '../../../extension/engine/loading/weights';
import { temporaryFolder, writeFiles } from '../loading/model_fixture';

type Json = Readonly<Record<string, unknown>>;

const COMMON = {
  architectures: ['ForCausalLM'],
  attention_dropout: 0,
  bos_token_id: 1,
  eos_token_id: 2,
  hidden_act: 'silu',
  initializer_range: 0.02,
  rms_norm_eps: 1e-6,
  torch_dtype: 'bfloat16',
  transformers_version: '4.50.0',
  use_cache: true,
};
const alternate = (first: string, second: string, layers: number) =>
  Array.from({ length: layers }, (_, i) => (i % 2 === 0 ? first : second));

/** The keys and values of config.json as their makers published them; `names`: the tensors that tell the layout. */
const MODELS: Readonly<Record<string, { config: Json; parameters: number; names?: string[] }>> = {
  'Qwen2.5-Coder-0.5B': {
    parameters: 494e6,
    config: {
      ...COMMON,
      hidden_size: 896,
      intermediate_size: 4864,
      max_position_embeddings: 32768,
      max_window_layers: 24,
      model_type: 'qwen2',
      num_attention_heads: 14,
      num_hidden_layers: 24,
      num_key_value_heads: 2,
      rope_theta: 1e6,
      sliding_window: 32768,
      tie_word_embeddings: true,
      use_mrope: false,
      use_sliding_window: false,
      vocab_size: 151936,
    },
  },
  'SmolLM2-135M': {
    parameters: 134.5e6,
    config: {
      ...COMMON,
      attention_bias: false,
      hidden_size: 576,
      intermediate_size: 1536,
      is_llama_config: true,
      max_position_embeddings: 8192,
      mlp_bias: false,
      model_type: 'llama',
      num_attention_heads: 9,
      num_hidden_layers: 30,
      num_key_value_heads: 3,
      pretraining_tp: 1,
      rope_interleaved: false,
      rope_scaling: null,
      rope_theta: 100000,
      tie_word_embeddings: true,
      'transformers.js_config': { kv_cache_dtype: { fp16: 'float16' } },
      vocab_size: 49152,
    },
  },
  'DeepSeek-Coder-1.3B': {
    parameters: 1346e6,
    config: {
      ...COMMON,
      hidden_size: 2048,
      intermediate_size: 5504,
      max_position_embeddings: 16384,
      model_type: 'llama',
      num_attention_heads: 16,
      num_hidden_layers: 24,
      num_key_value_heads: 16,
      pretraining_tp: 1,
      rope_scaling: { factor: 4, type: 'linear' },
      rope_theta: 100000,
      tie_word_embeddings: false,
      vocab_size: 32256,
    },
  },
  'Gemma-2-2B': {
    parameters: 2614e6,
    config: {
      ...COMMON,
      attention_bias: false,
      attn_logit_softcapping: 50,
      cache_implementation: 'hybrid',
      final_logit_softcapping: 30,
      head_dim: 256,
      hidden_act: 'gelu_pytorch_tanh',
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_size: 2304,
      intermediate_size: 9216,
      max_position_embeddings: 8192,
      model_type: 'gemma2',
      num_attention_heads: 8,
      num_hidden_layers: 26,
      num_key_value_heads: 4,
      query_pre_attn_scalar: 256,
      rope_theta: 10000,
      sliding_window: 4096,
      sliding_window_size: 4096,
      vocab_size: 256000,
    },
  },
  'Gemma-3-4B, whose config leaves out most': {
    parameters: 3880e6,
    names: ['language_model.model.embed_tokens.weight'],
    config: {
      architectures: ['Gemma3ForConditionalGeneration'],
      boi_token_index: 255999,
      eos_token_id: [1, 106],
      image_token_index: 262144,
      mm_tokens_per_image: 256,
      model_type: 'gemma3',
      text_config: {
        hidden_size: 2560,
        intermediate_size: 10240,
        model_type: 'gemma3_text',
        num_hidden_layers: 34,
        rope_scaling: { factor: 8, rope_type: 'linear' },
        sliding_window: 1024,
      },
      vision_config: { hidden_size: 1152, model_type: 'siglip_vision_model' },
    },
  },
  'Phi-3-mini-4k': {
    parameters: 3821e6,
    config: {
      ...COMMON,
      attention_bias: false,
      auto_map: { AutoConfig: 'configuration_phi3.Phi3Config' },
      embd_pdrop: 0,
      hidden_size: 3072,
      intermediate_size: 8192,
      max_position_embeddings: 4096,
      model_type: 'phi3',
      num_attention_heads: 32,
      num_hidden_layers: 32,
      num_key_value_heads: 32,
      original_max_position_embeddings: 4096,
      resid_pdrop: 0,
      rope_scaling: null,
      rope_theta: 10000,
      sliding_window: 2047,
      tie_word_embeddings: false,
      vocab_size: 32064,
    },
  },
  'SmolLM3-3B': {
    parameters: 3075e6,
    config: {
      ...COMMON,
      attention_bias: false,
      hidden_size: 2048,
      intermediate_size: 11008,
      max_position_embeddings: 65536,
      max_window_layers: 28,
      mlp_bias: false,
      model_type: 'smollm3',
      no_rope_layer_interval: 4,
      no_rope_layers: Array.from({ length: 36 }, (_, i) => ((i + 1) % 4 === 0 ? 0 : 1)),
      num_attention_heads: 16,
      num_hidden_layers: 36,
      num_key_value_heads: 4,
      pretraining_tp: 2,
      rope_scaling: null,
      rope_theta: 5e6,
      sliding_window: null,
      use_sliding_window: false,
      vocab_size: 128256,
    },
  },
  'Qwen3-Coder-30B-A3B, MLX': {
    parameters: 30532e6,
    names: Array.from(
      { length: 48 },
      (_, n) => `model.layers.${n}.mlp.switch_mlp.gate_proj.weight`,
    ),
    config: {
      ...COMMON,
      attention_bias: false,
      decoder_sparse_step: 1,
      head_dim: 128,
      hidden_size: 2048,
      intermediate_size: 5472,
      max_position_embeddings: 262144,
      max_window_layers: 28,
      mlp_only_layers: [],
      model_type: 'qwen3_moe',
      moe_intermediate_size: 768,
      norm_topk_prob: true,
      num_attention_heads: 32,
      num_experts: 128,
      num_experts_per_tok: 8,
      num_hidden_layers: 48,
      num_key_value_heads: 4,
      output_router_logits: false,
      qkv_bias: false,
      rope_scaling: null,
      rope_theta: 1e7,
      router_aux_loss_coef: 0,
      shared_expert_intermediate_size: 0,
      sliding_window: null,
      tie_word_embeddings: false,
      use_qk_norm: true,
      use_sliding_window: false,
      vocab_size: 151936,
    },
  },
  'gpt-oss-20b': {
    parameters: 20915e6,
    config: {
      ...COMMON,
      attention_bias: true,
      experts_per_token: 4,
      head_dim: 64,
      hidden_size: 2880,
      initial_context_length: 4096,
      intermediate_size: 2880,
      layer_types: alternate('sliding_attention', 'full_attention', 24),
      max_position_embeddings: 131072,
      model_type: 'gpt_oss',
      num_attention_heads: 64,
      num_experts_per_tok: 4,
      num_hidden_layers: 24,
      num_key_value_heads: 8,
      num_local_experts: 32,
      output_router_logits: false,
      rms_norm_eps: 1e-5,
      rope_scaling: {
        beta_fast: 32,
        beta_slow: 1,
        factor: 32,
        original_max_position_embeddings: 4096,
        rope_type: 'yarn',
        truncate: false,
      },
      rope_theta: 150000,
      router_aux_loss_coef: 0.9,
      sliding_window: 128,
      swiglu_limit: 7,
      tie_word_embeddings: false,
      vocab_size: 201088,
    },
  },
  'DeepSeek-V2-Lite': {
    parameters: 15706e6,
    config: {
      ...COMMON,
      attention_bias: false,
      auto_map: { AutoConfig: 'configuration_deepseek.DeepseekV2Config' },
      aux_loss_alpha: 0.001,
      first_k_dense_replace: 1,
      hidden_size: 2048,
      intermediate_size: 10944,
      kv_lora_rank: 512,
      max_position_embeddings: 163840,
      model_type: 'deepseek_v2',
      moe_intermediate_size: 1408,
      moe_layer_freq: 1,
      n_group: 1,
      n_routed_experts: 64,
      n_shared_experts: 2,
      norm_topk_prob: false,
      num_attention_heads: 16,
      num_experts_per_tok: 6,
      num_hidden_layers: 27,
      num_key_value_heads: 16,
      pretraining_tp: 1,
      q_lora_rank: null,
      qk_nope_head_dim: 128,
      qk_rope_head_dim: 64,
      rope_scaling: {
        beta_fast: 32,
        beta_slow: 1,
        factor: 40,
        mscale: 0.707,
        mscale_all_dim: 0.707,
        original_max_position_embeddings: 4096,
        type: 'yarn',
      },
      rope_theta: 10000,
      routed_scaling_factor: 1,
      scoring_func: 'softmax',
      seq_aux: true,
      tie_word_embeddings: false,
      topk_group: 1,
      topk_method: 'greedy',
      v_head_dim: 128,
      vocab_size: 102400,
    },
  },
  'Qwen3.5-27B, an image model': {
    parameters: 26896e6,
    names: ['model.language_model.embed_tokens.weight'],
    config: {
      architectures: ['Qwen3_5ForConditionalGeneration'],
      image_token_id: 248056,
      model_type: 'qwen3_5',
      text_config: {
        attention_bias: false,
        attention_dropout: 0,
        attn_output_gate: true,
        dtype: 'bfloat16',
        full_attention_interval: 4,
        head_dim: 256,
        hidden_act: 'silu',
        hidden_size: 5120,
        intermediate_size: 17408,
        layer_types: Array.from({ length: 64 }, (_, i) =>
          (i + 1) % 4 === 0 ? 'full_attention' : 'linear_attention',
        ),
        linear_conv_kernel_dim: 4,
        linear_key_head_dim: 128,
        linear_num_key_heads: 16,
        linear_num_value_heads: 48,
        linear_value_head_dim: 128,
        mamba_ssm_dtype: 'float32',
        max_position_embeddings: 262144,
        model_type: 'qwen3_5_text',
        mtp_num_hidden_layers: 1,
        mtp_use_dedicated_embeddings: false,
        num_attention_heads: 24,
        num_hidden_layers: 64,
        num_key_value_heads: 4,
        rms_norm_eps: 1e-6,
        rope_parameters: {
          mrope_interleaved: true,
          mrope_section: [11, 11, 10],
          partial_rotary_factor: 0.25,
          rope_theta: 1e7,
          rope_type: 'default',
        },
        use_cache: true,
        vocab_size: 248320,
      },
      tie_word_embeddings: false,
      vision_config: { depth: 27, model_type: 'qwen3_5' },
    },
  },
};

describe('configs of published models', () => {
  for (const [name, { config, parameters, names = [] }] of Object.entries(MODELS)) {
    test(name, () => {
      const dir = writeFiles(temporaryFolder(), { 'config.json': config });
      const program = buildProgram(readModelConfig(dir), indexOf(names));
      const count = parametersOf(program);
      assert.ok(Math.abs(count / parameters - 1) < 0.005, `${count / 1e6} million parameters`);
      assert.ok(fuse(program).instructions.length < program.instructions.length);
    });
  }
});

test('the language part of an image model is read under its own name', () => {
  const { config, names = [] } = MODELS['Qwen3.5-27B, an image model'] ?? { config: {} };
  const dir = writeFiles(temporaryFolder(), { 'config.json': config });
  const ignored: RegExp[] = [];
  const program = buildProgram(readModelConfig(dir), indexOf(names, ignored));
  assert.ok(program.weights.some((w) => w.name === 'lm_head.weight'));
  const layers = program.weights.filter((w) => w.name !== 'lm_head.weight');
  assert.ok(layers.every((w) => w.name.startsWith('model.language_model.')));
  const isIgnored = (name: string) => ignored.some((pattern) => pattern.test(name));
  assert.ok(isIgnored('model.visual.blocks.0.attn.qkv.weight'));
  assert.ok(isIgnored('mtp.fc.weight'));
  assert.ok(!isIgnored('model.language_model.layers.0.mlp.extra.weight'));
});

function indexOf(names: readonly string[], ignored: RegExp[] = []): TensorIndex {
  return {
    has: (name) => names.includes(name),
    shape: () => null,
    ignore: (pattern) => ignored.push(pattern),
  };
}

function parametersOf({ weights }: Program): number {
  return weights.reduce((sum, { rows, cols }) => sum + rows * cols, 0);
}
