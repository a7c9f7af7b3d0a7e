/** Published models as programs whose weights no file has, and what a step of them takes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KvBits } from '../../extension/engine/backend/backend';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import type { Program } from '../../extension/engine/core/program';
import { readModelConfig } from '../../extension/engine/loading/config';
import { buildCounter } from './build.mjs';

/** What test/metal/count/ gives. */
export interface StepCount {
  readonly dispatches: number;
  readonly weightBytes: number;
  readonly cacheBytes: number;
}

interface Counter {
  countStep(program: Program, rows: number, position: number, kvBits?: KvBits): StepCount;
}

export async function loadCounter(): Promise<Counter> {
  return createRequire(__filename)(await buildCounter()) as Counter;
}

const common = {
  attention_bias: false,
  head_dim: 128,
  hidden_act: 'silu',
  max_position_embeddings: 40960,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  torch_dtype: 'bfloat16',
  vocab_size: 151936,
};
/** As their publisher describes them. */
export const QWEN3_06B = {
  ...common,
  model_type: 'qwen3',
  hidden_size: 1024,
  intermediate_size: 3072,
  num_hidden_layers: 28,
  tie_word_embeddings: true,
};
export const QWEN3_4B = {
  ...QWEN3_06B,
  hidden_size: 2560,
  intermediate_size: 9728,
  num_attention_heads: 32,
  num_hidden_layers: 36,
};
export const QWEN3_8B = {
  ...QWEN3_4B,
  hidden_size: 4096,
  intermediate_size: 12288,
  tie_word_embeddings: false,
};
export const QWEN3_30B_A3B = {
  ...common,
  model_type: 'qwen3_moe',
  hidden_size: 2048,
  intermediate_size: 6144,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  num_hidden_layers: 48,
  num_experts: 128,
  num_experts_per_tok: 8,
  moe_intermediate_size: 768,
  decoder_sparse_step: 1,
  mlp_only_layers: [],
  norm_topk_prob: true,
  tie_word_embeddings: false,
};

export function programOf(config: object): Program {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-dispatches-'));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const hasExpertsInOne = /switch_mlp/;
  const program = fuse(
    buildProgram(readModelConfig(folder), {
      has: (name) => hasExpertsInOne.test(name),
      shape: () => null,
      ignore: () => {},
    }),
  );
  rmSync(folder, { recursive: true });
  return {
    ...program,
    weights: program.weights.map(({ name, kind, rows, cols }) => ({ name, kind, rows, cols })),
  };
}
