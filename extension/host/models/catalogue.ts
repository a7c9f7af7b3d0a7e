/** Well-known public models that this engine runs, to recommend from. Facts are from the models' own cards and files. */

import * as l10n from '@vscode/l10n';

export const TASKS = ['completion', 'chat'] as const;
/** completion: knows fill-in-the-middle; chat: follows instructions. */
export type Task = (typeof TASKS)[number];

export function taskTitle(task: Task): string {
  return task === 'completion' ? l10n.t('completion') : l10n.t('chat');
}

/** Where a model is, in one format. */
export interface Source {
  /** ORGANISATION/NAME on the hub. */
  readonly repository: string;
  /** The GGUF file of the repository; null = the folder of safetensors. */
  readonly file: string | null;
  /** Of the weights, about. */
  readonly sizeBytes: number;
}

export interface CatalogueModel {
  readonly name: string;
  readonly tasks: readonly Task[];
  /** As in docs/models.md. */
  readonly modelType: string;
  /** In billions: all, and those that one token uses. */
  readonly parameters: number;
  readonly activeParameters: number;
  /** Keys, and as many values, of one token in the cache. */
  readonly cache: { readonly layers: number; readonly heads: number; readonly columns: number };
  /** As the model's card says; `Other: …` is the maker's own. */
  readonly license: string;
  /** Use in a business needs another agreement. */
  readonly nonCommercial: boolean;
  /** Larger is better at code, among those of a task; our judgement, from the cards' benchmarks. */
  readonly rank: number;
  /** What is special, in a few words. */
  readonly strength: () => string;
  /** MLX, which Apple's GPU computes, and GGUF. */
  readonly mlx: Source | null;
  readonly gguf: Source | null;
}

const GB = 1e9;
const APACHE = 'Apache-2.0';

const folder = (repository: string, gigabytes: number): Source => ({
  repository,
  file: null,
  sizeBytes: gigabytes * GB,
});
const gguf = (repository: string, file: string, gigabytes: number): Source => ({
  repository,
  file,
  sizeBytes: gigabytes * GB,
});

const open = { license: APACHE, nonCommercial: false } as const;
const completion = { tasks: ['completion'], ...open } as const;
const chat = { tasks: ['chat'], ...open } as const;

export const CATALOGUE: readonly CatalogueModel[] = [
  {
    ...completion,
    name: 'Qwen2.5-Coder 0.5B',
    modelType: 'qwen2',
    parameters: 0.49,
    activeParameters: 0.49,
    cache: { layers: 24, heads: 2, columns: 64 },
    rank: 1,
    strength: () => l10n.t('quick on any computer'),
    mlx: null,
    gguf: gguf('ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF', 'qwen2.5-coder-0.5b-q8_0.gguf', 0.53),
  },
  {
    ...completion,
    name: 'Qwen2.5-Coder 1.5B',
    modelType: 'qwen2',
    parameters: 1.54,
    activeParameters: 1.54,
    cache: { layers: 28, heads: 2, columns: 128 },
    rank: 2,
    strength: () => l10n.t('knows common libraries'),
    mlx: folder('mlx-community/Qwen2.5-Coder-1.5B-4bit', 0.88),
    gguf: gguf('ggml-org/Qwen2.5-Coder-1.5B-Q8_0-GGUF', 'qwen2.5-coder-1.5b-q8_0.gguf', 1.65),
  },
  {
    ...completion,
    name: 'Qwen2.5-Coder 3B',
    modelType: 'qwen2',
    parameters: 3.09,
    activeParameters: 3.09,
    cache: { layers: 36, heads: 2, columns: 128 },
    license: 'Other: Qwen Research',
    nonCommercial: true,
    rank: 3,
    strength: () => l10n.t('between the 1.5B and the 7B'),
    mlx: folder('mlx-community/Qwen2.5-Coder-3B-4bit', 1.75),
    gguf: gguf('ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF', 'qwen2.5-coder-3b-q8_0.gguf', 3.29),
  },
  {
    ...completion,
    name: 'Qwen2.5-Coder 7B',
    modelType: 'qwen2',
    parameters: 7.61,
    activeParameters: 7.61,
    cache: { layers: 28, heads: 4, columns: 128 },
    rank: 4,
    strength: () => l10n.t('completes whole functions well'),
    mlx: folder('mlx-community/Qwen2.5-Coder-7B-4bit', 4.3),
    gguf: gguf('ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF', 'qwen2.5-coder-7b-q8_0.gguf', 8.1),
  },
  {
    ...completion,
    name: 'Qwen2.5-Coder 14B',
    modelType: 'qwen2',
    parameters: 14.7,
    activeParameters: 14.7,
    cache: { layers: 48, heads: 8, columns: 128 },
    rank: 5,
    strength: () => l10n.t('the best that is quick enough on large Macs'),
    mlx: folder('mlx-community/Qwen2.5-Coder-14B-4bit', 8.3),
    gguf: null,
  },
  {
    ...chat,
    name: 'Qwen3-Coder 30B A3B Instruct',
    tasks: ['completion', 'chat'],
    modelType: 'qwen3_moe',
    parameters: 30.5,
    activeParameters: 3.3,
    cache: { layers: 48, heads: 4, columns: 128 },
    rank: 9,
    strength: () => l10n.t('made for agents and tools; one model for chat and completion'),
    mlx: folder('mlx-community/Qwen3-Coder-30B-A3B-Instruct-4bit', 17.2),
    gguf: gguf(
      'unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF',
      'Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf',
      18.56,
    ),
  },
  {
    ...chat,
    name: 'Qwen3 1.7B',
    modelType: 'qwen3',
    parameters: 1.72,
    activeParameters: 1.72,
    cache: { layers: 28, heads: 8, columns: 128 },
    rank: 1,
    strength: () => l10n.t('the smallest that answers usefully'),
    mlx: folder('mlx-community/Qwen3-1.7B-4bit', 0.97),
    gguf: gguf('Qwen/Qwen3-1.7B-GGUF', 'Qwen3-1.7B-Q8_0.gguf', 1.83),
  },
  {
    ...chat,
    name: 'Granite 3.3 2B Instruct',
    modelType: 'granite',
    parameters: 2.53,
    activeParameters: 2.53,
    cache: { layers: 40, heads: 8, columns: 64 },
    rank: 1.5,
    strength: () => l10n.t('short answers, knows tools'),
    mlx: folder('mlx-community/granite-3.3-2b-instruct-4bit', 1.43),
    gguf: gguf(
      'ibm-granite/granite-3.3-2b-instruct-GGUF',
      'granite-3.3-2b-instruct-Q4_K_M.gguf',
      1.55,
    ),
  },
  {
    ...chat,
    name: 'SmolLM3 3B',
    modelType: 'smollm3',
    parameters: 3.08,
    activeParameters: 3.08,
    cache: { layers: 36, heads: 4, columns: 128 },
    rank: 2,
    strength: () => l10n.t('open training data, thinks when asked to'),
    mlx: folder('mlx-community/SmolLM3-3B-4bit', 1.75),
    gguf: null,
  },
  {
    ...chat,
    name: 'Gemma 3 4B',
    modelType: 'gemma3_text',
    parameters: 4.3,
    activeParameters: 4.3,
    cache: { layers: 34, heads: 4, columns: 256 },
    license: 'Other: Gemma',
    rank: 2.5,
    strength: () => l10n.t('writes well in many languages'),
    mlx: null,
    gguf: gguf('ggml-org/gemma-3-4b-it-GGUF', 'gemma-3-4b-it-Q4_K_M.gguf', 2.49),
  },
  {
    ...chat,
    name: 'Qwen3 4B',
    modelType: 'qwen3',
    parameters: 4.02,
    activeParameters: 4.02,
    cache: { layers: 36, heads: 8, columns: 128 },
    rank: 3,
    strength: () => l10n.t('good at code for its size, knows tools'),
    mlx: folder('mlx-community/Qwen3-4B-Instruct-2507-4bit', 2.26),
    gguf: gguf('Qwen/Qwen3-4B-GGUF', 'Qwen3-4B-Q4_K_M.gguf', 2.5),
  },
  {
    ...chat,
    name: 'Qwen2.5-Coder 7B Instruct',
    modelType: 'qwen2',
    parameters: 7.61,
    activeParameters: 7.61,
    cache: { layers: 28, heads: 4, columns: 128 },
    rank: 4,
    strength: () => l10n.t('answers at once, without thoughts'),
    mlx: folder('mlx-community/Qwen2.5-Coder-7B-Instruct-4bit', 4.3),
    gguf: gguf(
      'Qwen/Qwen2.5-Coder-7B-Instruct-GGUF',
      'qwen2.5-coder-7b-instruct-q4_k_m.gguf',
      4.68,
    ),
  },
  {
    ...chat,
    name: 'Granite 3.3 8B Instruct',
    modelType: 'granite',
    parameters: 8.17,
    activeParameters: 8.17,
    cache: { layers: 40, heads: 8, columns: 128 },
    rank: 3.5,
    strength: () => l10n.t('short answers, knows tools'),
    mlx: folder('mlx-community/granite-3.3-8b-instruct-4bit', 4.6),
    gguf: gguf(
      'ibm-granite/granite-3.3-8b-instruct-GGUF',
      'granite-3.3-8b-instruct-Q4_K_M.gguf',
      4.94,
    ),
  },
  {
    ...chat,
    name: 'Qwen3 8B',
    modelType: 'qwen3',
    parameters: 8.19,
    activeParameters: 8.19,
    cache: { layers: 36, heads: 8, columns: 128 },
    rank: 5,
    strength: () => l10n.t('thinks before it answers, knows tools'),
    mlx: folder('mlx-community/Qwen3-8B-4bit', 4.61),
    gguf: gguf('Qwen/Qwen3-8B-GGUF', 'Qwen3-8B-Q4_K_M.gguf', 5.03),
  },
  {
    ...chat,
    name: 'Qwen3 14B',
    modelType: 'qwen3',
    parameters: 14.8,
    activeParameters: 14.8,
    cache: { layers: 40, heads: 8, columns: 128 },
    rank: 6,
    strength: () => l10n.t('thinks before it answers, knows tools'),
    mlx: folder('mlx-community/Qwen3-14B-4bit', 8.31),
    gguf: gguf('Qwen/Qwen3-14B-GGUF', 'Qwen3-14B-Q4_K_M.gguf', 9),
  },
  {
    ...chat,
    name: 'gpt-oss 20B',
    modelType: 'gpt_oss',
    parameters: 20.9,
    activeParameters: 3.6,
    cache: { layers: 24, heads: 8, columns: 64 },
    rank: 7,
    strength: () => l10n.t('quick for its size, thinks, knows tools'),
    mlx: null,
    gguf: gguf('ggml-org/gpt-oss-20b-GGUF', 'gpt-oss-20b-mxfp4.gguf', 12.1),
  },
  {
    ...chat,
    name: 'Devstral Small 2507',
    modelType: 'mistral',
    parameters: 23.6,
    activeParameters: 23.6,
    cache: { layers: 40, heads: 8, columns: 128 },
    rank: 7.5,
    strength: () => l10n.t('made for agents that edit code'),
    mlx: folder('mlx-community/Devstral-Small-2507-4bit', 13.3),
    gguf: gguf('mistralai/Devstral-Small-2507_gguf', 'Devstral-Small-2507-Q4_K_M.gguf', 14.33),
  },
  {
    ...chat,
    name: 'Qwen3 30B A3B',
    modelType: 'qwen3_moe',
    parameters: 30.5,
    activeParameters: 3.3,
    cache: { layers: 48, heads: 4, columns: 128 },
    rank: 8,
    strength: () => l10n.t('quick for its size, thinks, knows tools'),
    mlx: folder('mlx-community/Qwen3-30B-A3B-4bit', 17.2),
    gguf: gguf('Qwen/Qwen3-30B-A3B-GGUF', 'Qwen3-30B-A3B-Q4_K_M.gguf', 18.56),
  },
  {
    ...chat,
    name: 'Qwen3 32B',
    modelType: 'qwen3',
    parameters: 32.8,
    activeParameters: 32.8,
    cache: { layers: 64, heads: 8, columns: 128 },
    rank: 8.5,
    strength: () => l10n.t('the best answers for a patient reader'),
    mlx: folder('mlx-community/Qwen3-32B-4bit', 18.4),
    gguf: gguf('Qwen/Qwen3-32B-GGUF', 'Qwen3-32B-Q4_K_M.gguf', 19.76),
  },
];
