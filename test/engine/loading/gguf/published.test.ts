/** GGUF files as the programs in use write them, beyond what llama.cpp's converter writes of the fixtures. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import type { Program } from '../../../../extension/engine/core/program';
import type { ModelSource } from '../../../../extension/engine/loading/model_source';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { FIXTURES, temporaryFolder, writeFiles } from '../model_fixture';
import { convertParts } from './convert';
import { f32, flag, gguf, i32, text, u32, type GgufContent } from './gguf_fixture';

type Metadata = NonNullable<GgufContent['metadata']>;
type Tensors = NonNullable<GgufContent['tensors']>;

interface Change {
  readonly metadata?: (keys: Metadata) => Metadata;
  readonly tensors?: (tensors: Tensors) => Tensors;
}

/** The program of a fixture's file with changes; every check of loading has passed. */
function load(family: string, { metadata, tensors }: Change): Program {
  const model = open(family, { ...(metadata && { metadata }), ...(tensors && { tensors }) });
  try {
    const program = buildProgram(model.config(), model.weights);
    for (const { name, rows, cols, part } of program.weights) {
      model.weights.weight(name, rows, cols, part);
    }
    model.weights.assertAllUsed();
    return program;
  } finally {
    model.close();
  }
}

function open(family: string, change: Change): ModelSource {
  const { metadata, tensors } = convertParts(join(FIXTURES, 'families', family));
  const file = gguf({
    metadata: change.metadata?.(metadata) ?? metadata,
    tensors: change.tensors?.(tensors) ?? tensors,
  });
  return openModel(join(writeFiles(temporaryFolder(), { 'model.gguf': file }), 'model.gguf'));
}

const renamed = (from: RegExp, to: string) => (keys: Metadata) =>
  Object.fromEntries(Object.entries(keys).map(([key, value]) => [key.replace(from, to), value]));

const without =
  (...names: string[]) =>
  (keys: Metadata) =>
    Object.fromEntries(Object.entries(keys).filter(([key]) => !names.includes(key)));

describe('keys that published files have', () => {
  test('Qwen3-Coder names the width of shared experts that it does not have', () => {
    const shared = { 'qwen3moe.expert_shared_feed_forward_length': u32(0) };
    load('qwen3-moe', { metadata: (keys) => ({ ...keys, ...shared }) });
  });

  test('Phi-3.5: factors for short and long contexts', () => {
    const factors = (name: string, first: number) => ({
      name: `rope_factors_${name}.weight`,
      shape: [4],
      data: new Uint8Array(Float32Array.of(first, 2, 3, 4).buffer),
    });
    const program = load('phi3', {
      metadata: (keys) => ({ ...keys, 'phi3.rope.scaling.attn_factor': f32(1.19) }),
      tensors: (tensors) => [...tensors, factors('long', 8), factors('short', 1)],
    });
    const [rope] = program.instructions.flatMap((at) => (at.op === 'rope' ? [at.rope] : []));
    assert.ok(rope?.beyond !== undefined);
    assert.equal(rope.beyond.inverseFrequencies[0], 1 / 8);
    assert.equal(Math.fround(rope.scale), Math.fround(1.19));
  });
});

describe('files of Ollama', () => {
  test('Gemma 3 with its image tower, and what its converter left out', () => {
    const program = load('gemma3', {
      metadata: (keys) => ({
        ...without('gemma3.attention.layer_norm_rms_epsilon', 'gemma3.rope.freq_base')(keys),
        'gemma3.context_length': u32(131_072),
        'gemma3.mm.tokens_per_image': u32(256),
        'gemma3.vision.block_count': u32(27),
        'gemma3.vision.attention.layer_norm_epsilon': f32(1e-6),
        'gemma3.rope.global.freq_base': f32(1e6),
        'gemma3.rope.local.freq_base': f32(1e4),
      }),
      tensors: (tensors) => [
        ...tensors,
        { name: 'v.patch_embedding.weight', shape: [4, 4] },
        { name: 'mm.mm_soft_emb_norm.weight', shape: [4] },
      ],
    });
    const scales = program.instructions.flatMap((at) =>
      at.op === 'rope' ? [at.rope.inverseFrequencies[0]] : [],
    );
    // Sliding layers turn as they are, global ones an eighth as fast.
    assert.deepEqual([...new Set(scales)], [1, 1 / 8]);
  });

  test('Gemma 3 whose layers are listed', () => {
    load('gemma3', {
      metadata: (keys) => ({
        ...keys,
        'gemma3.attention.sliding_window_pattern': flag([true, false]),
      }),
    });
  });

  test('gpt-oss under its own name', () => {
    const names: [RegExp, string][] = [
      [/\.attn_output\./, '.attn_out.'],
      [/\.attn_sinks\.weight$/, '.attn_sinks'],
      [/\.post_attention_norm\./, '.ffn_norm.'],
    ];
    const program = load('gpt-oss', {
      metadata: (keys) => ({
        ...renamed(
          /^gpt-oss\./,
          'gptoss.',
        )(without('gpt-oss.rope.scaling.type', 'gpt-oss.expert_feed_forward_length')(keys)),
        'general.architecture': text('gptoss'),
      }),
      tensors: (tensors) =>
        tensors.map((tensor) => ({
          ...tensor,
          name: names.reduce((name, [from, to]) => name.replace(from, to), tensor.name),
        })),
    });
    assert.deepEqual(program, load('gpt-oss', {}));
  });

  test('Qwen3-Coder: how experts are weighed, by another name', () => {
    load('qwen3-moe', {
      metadata: (keys) => ({
        ...without('qwen3moe.expert_feed_forward_length')(keys),
        'qwen3moe.norm_top_k_prob': flag(true),
      }),
    });
  });

  test('Qwen3.5 with its image tower and the head that guesses ahead', () => {
    const heads = { 'qwen35.attention.head_count_kv': u32([0, 2]) };
    const program = load('qwen3.5', {
      metadata: (keys) => ({
        ...keys,
        ...heads,
        'qwen35.image_token_id': u32(5),
        'qwen35.mrope_sections': i32([11, 11, 10]),
        'qwen35.rope.mrope_interleaved': flag(true),
        'qwen35.rope.mrope_section': i32([11, 11, 10]),
        'qwen35.ssm.v_head_reordered': flag(true),
        'qwen35.vision.block_count': u32(27),
        'qwen35.vision_start_token_id': u32(6),
        'qwen35.vision_end_token_id': u32(7),
      }),
      tensors: (tensors) => [
        ...tensors.map((tensor) => ({
          ...tensor,
          name: tensor.name.replace(/\.ssm_dt\.bias$/, '.ssm_dt'),
        })),
        { name: 'v.blk.0.attn_q.weight', shape: [4, 4] },
        { name: 'mtp.fc.weight', shape: [4, 4] },
      ],
    });
    assert.deepEqual(program, load('qwen3.5', {}));
  });
});
