import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { f32, FIXTURES, safetensors, temporaryFolder, writeFiles } from '../loading/model_fixture';
import { changed, load, renamed, withTensors } from './changed_family';

/** What transformers writes of a configuration that a program had in memory. */
const OF_TRANSFORMERS = {
  _attn_implementation_autoset: true,
  add_cross_attention: false,
  attn_implementation: 'sdpa',
  bad_words_ids: null,
  chunk_size_feed_forward: 0,
  cross_attention_hidden_size: null,
  diversity_penalty: 0,
  do_sample: false,
  early_stopping: false,
  encoder_no_repeat_ngram_size: 0,
  finetuning_task: null,
  forced_bos_token_id: null,
  id2label: { 0: 'LABEL_0', 1: 'LABEL_1' },
  is_decoder: false,
  is_encoder_decoder: false,
  label2id: { LABEL_0: 0, LABEL_1: 1 },
  length_penalty: 1,
  max_length: 20,
  min_length: 0,
  no_repeat_ngram_size: 0,
  num_beam_groups: 1,
  num_beams: 1,
  num_return_sequences: 1,
  output_attentions: false,
  output_hidden_states: false,
  output_scores: false,
  prefix: null,
  pruned_heads: {},
  remove_invalid_values: false,
  repetition_penalty: 1,
  return_dict: true,
  return_dict_in_generate: false,
  temperature: 1,
  tf_legacy_loss: false,
  tie_encoder_decoder: false,
  tokenizer_class: 'GemmaTokenizer',
  top_k: 50,
  top_p: 1,
  torchscript: false,
  typical_p: 1,
  use_bfloat16: false,
};

describe('keys of published models that change nothing', () => {
  const cases: [name: string, family: string, keys: Record<string, unknown>][] = [
    ['everything that transformers knows', 'qwen2', OF_TRANSFORMERS],
    [
      'what StarCoder2 has of its predecessor',
      'starcoder2',
      {
        activation_function: 'gelu',
        attention_softmax_in_fp32: true,
        layer_norm_epsilon: 1e-5,
        scale_attention_softmax_in_fp32: true,
        scale_attn_weights: true,
      },
    ],
    ['CodeQwen1.5', 'qwen2', { rotary_emb_base: 1_000_000, seq_length: 65_536 }],
    ['Phi-4-mini', 'phi3', { full_attn_mod: 1, interpolate_factor: 1, lm_head_bias: false }],
    ['one kind of layer', 'llama3-rope', { layer_types: ['full_attention', 'full_attention'] }],
    ['heads for several tokens that are not there', 'qwen3-moe', { num_nextn_predict_layers: 0 }],
  ];
  for (const [name, family, keys] of cases) test(name, () => load(changed(family, keys)));
});

describe('tensors of published models that are not used', () => {
  test('the head of an image model that is tied, as MLX converts Gemma 3', () => {
    const text_config = JSON.parse(
      readFileSync(join(FIXTURES, 'families/gemma3/config.json'), 'utf8'),
    ) as object;
    const prefixed = renamed('gemma3', (name) => `language_model.${name}`);
    const [head] = Object.values(prefixed).filter(({ shape }) => shape[0] === 192);
    const dir = writeFiles(temporaryFolder(), {
      'config.json': {
        model_type: 'gemma3',
        text_config: { ...text_config, ...OF_TRANSFORMERS },
        vision_config: { hidden_size: 8 },
      },
      'model.safetensors': safetensors({
        ...prefixed,
        'language_model.lm_head.weight': head ?? f32([1]),
        'vision_tower.embeddings.weight': f32([4]),
      }),
    });
    load(dir);
  });

  test('the rotary embedding’s frequencies', () => {
    const name = 'model.layers.0.self_attn.rotary_emb.inv_freq';
    load(withTensors('llama3-rope', { [name]: f32([4]) }));
  });
});
