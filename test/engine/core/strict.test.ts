import { describe, test } from 'node:test';
import { assertFails, f32 } from '../loading/model_fixture';
import { changed, load, withTensors } from './changed_family';

describe('a key or a value that the family does not know', () => {
  const cases: [family: string, change: Record<string, unknown>, ...parts: string[]][] = [
    ['qwen2', { model_type: 'qwen99' }, 'qwen99', 'supported: deepseek_v2, gemma'],
    ['qwen2', { attention_sparsity: 0.5 }, 'attention_sparsity', 'unknown key'],
    ['qwen2', { hidden_act: 'mish' }, 'hidden_act', 'mish', 'silu'],
    ['glm4', { rope_scaling: { type: 'spiral' }, rope_parameters: null }, 'spiral', 'yarn'],
    ['gemma2', { layer_types: ['sliding_attention', 'chunked_attention'] }, 'chunked_attention'],
    ['starcoder2', { mlp_type: 'glu' }, 'mlp_type', 'glu', 'default'],
    ['deepseek-v2', { topk_method: 'noaux_tc' }, 'noaux_tc', 'greedy'],
    ['deepseek-v2', { scoring_func: 'sigmoid' }, 'scoring_func', 'softmax'],
    ['qwen3.5', { layer_types: ['mamba', 'full_attention'] }, 'mamba', 'linear_attention'],
    ['qwen2-q4-g64', { quantization: { bits: 4, group_size: 64, mode: 'q9' } }, 'mode', 'q9'],
  ];
  for (const [family, change, ...parts] of cases) {
    test(`${family}: ${JSON.stringify(change)}`, () => {
      assertFails(() => load(changed(family, change)), 'unsupported', ...parts);
    });
  }
});

describe('numbers that contradict each other', () => {
  const cases: [family: string, change: Record<string, unknown>, ...parts: string[]][] = [
    ['gemma2', { sliding_window: null }, 'sliding_window'],
    ['gemma3', { layer_types: ['full_attention'] }, 'layer_types has 1 entries, expected 2'],
    ['smollm3', { no_rope_layers: [1] }, 'no_rope_layers has 1 entries, expected 2'],
    ['qwen3-moe', { num_experts_per_tok: 9 }, 'num_experts_per_tok 9', '8'],
    ['deepseek-v2', { n_group: 3 }, 'n_routed_experts 8', 'n_group 3'],
    ['qwen3.5', { linear_num_key_heads: 3 }, 'linear_num_value_heads 4'],
    ['gpt-oss', { swiglu_limit: 5 }, 'swiglu_limit 5: expected 7'],
    ['deepseek-v2', { norm_topk_prob: true }, 'norm_topk_prob true'],
  ];
  for (const [family, change, ...parts] of cases) {
    test(`${family}: ${JSON.stringify(change)}`, () => {
      assertFails(() => load(changed(family, change)), 'bad_model', ...parts);
    });
  }
});

describe('tensors that do not fit the config', () => {
  const missing = { num_hidden_layers: 3, layer_types: null };
  test('one too few', () => {
    assertFails(() => load(changed('qwen2', missing)), 'bad_model', 'model.layers.2.', 'missing');
  });
  test('one too many', () => {
    const dir = withTensors('qwen2', { 'model.layers.1.self_attn.extra.weight': f32([4]) });
    assertFails(() => load(dir), 'bad_model', 'model.layers.1.self_attn.extra.weight', 'not use');
  });
  test('fewer experts than the tensor holds', () => {
    const dir = changed('qwen3-moe-q4-g64', { num_local_experts: 4 });
    assertFails(() => load(dir), 'bad_model', 'switch_mlp', 'expected [4, ');
  });
  test('a fused projection of another width', () => {
    const dir = changed('phi3', { num_key_value_heads: 4 });
    assertFails(() => load(dir), 'bad_model', 'qkv_proj', '[128, 64], expected [192, 64]');
  });
  test('a head that predicts several tokens is known, and left aside', () => {
    load(withTensors('qwen3.5', { 'mtp.norm.weight': f32([4]) }));
  });
});
