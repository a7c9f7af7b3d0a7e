/** What is fuzzed: each part of the loader that reads files of strangers, from a well-formed file on. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { EngineError } from '../../../../extension/engine/errors';
import type { ModelSource } from '../../../../extension/engine/loading/model_source';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { openSafetensors } from '../../../../extension/engine/loading/safetensors';
import { loadTokenizer } from '../../../../extension/engine/loading/tokenizer';
import { convert } from '../gguf/convert';
import { f32, i32, text, u32 } from '../gguf/gguf_fixture';
import { FIXTURES, withHeader } from '../model_fixture';
import { mutateBytes, mutateJson, Random } from './mutate';

export interface Target {
  readonly name: string;
  /** Writes a changed file into `folder` and loads it; throws what the loader throws. */
  run(folder: string, random: Random): void;
}

const FAMILIES = join(FIXTURES, 'families');
const HEADER = {
  __metadata__: { format: 'pt' },
  a: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
  'b.scales': { dtype: 'BF16', shape: [4], data_offsets: [24, 32] },
  c: { dtype: 'U32', shape: [1, 2], data_offsets: [32, 40] },
};

const safetensors: Target = {
  name: 'safetensors header',
  run(folder, random) {
    const path = join(folder, 'x.safetensors');
    const data = Buffer.alloc(40, 0x3f);
    const isText = random.below(2) === 0;
    const whole = withHeader(JSON.stringify(isText ? mutateJson(HEADER, random) : HEADER), data);
    writeFileSync(path, isText ? whole : mutateBytes(whole, random));
    const file = openSafetensors(path);
    try {
      for (const tensor of file.tensors.values()) file.bytes(tensor);
    } finally {
      file.close();
    }
  },
};

const TOKENS = ['<unk>', '<s>', '</s>', '▁', 'a', 'b', 'ab', 'Ġ', '<0x41>', '<|x|>'];
const VOCABULARY = {
  'tokenizer.ggml.tokens': text(TOKENS),
  'tokenizer.ggml.token_type': i32([2, 3, 3, 1, 1, 1, 1, 1, 6, 4]),
  'tokenizer.ggml.bos_token_id': u32(1),
  'tokenizer.ggml.eos_token_id': u32(2),
  'tokenizer.chat_template': text('{% for m in messages %}{{ m.role }}{% endfor %}'),
};
const GGUF_MODELS = [
  ['llama3-rope', { 'tokenizer.ggml.model': text('llama') }],
  ['qwen3-yarn', { 'tokenizer.ggml.model': text('gpt2'), 'tokenizer.ggml.pre': text('qwen2') }],
  ['gpt-oss', { 'tokenizer.ggml.model': text('gpt2'), 'tokenizer.ggml.pre': text('gpt-4o') }],
  ['deepseek-v2', { 'tokenizer.ggml.model': text('llama') }],
] as const;

function ggufFiles(): Buffer[] {
  return GGUF_MODELS.map(([name, tokenizer]) =>
    convert(join(FAMILIES, name), {
      ...VOCABULARY,
      ...tokenizer,
      'tokenizer.ggml.scores': f32(TOKENS.map((_, i) => -i)),
      'tokenizer.ggml.merges': text(['a b']),
    }),
  );
}

/** Only the header is changed: the data behind it is what it takes most of the time to write. */
function gguf(): Target {
  const files = ggufFiles();
  return {
    name: 'gguf header and metadata',
    run(folder, random) {
      const path = join(folder, 'x.gguf');
      const whole = random.pick(files);
      const header = 1 + random.below(whole.length >> 2);
      const changed = mutateBytes(whole.subarray(0, header), random);
      writeFileSync(path, Buffer.concat([changed, whole.subarray(header)]));
      withModel(path, readEverything);
    },
  };
}

function tokenizer(): Target {
  const bpe = {
    added_tokens: [
      { id: 4, content: '<|end|>', special: true, lstrip: false, rstrip: false, normalized: false },
    ],
    normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }] },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: '\\s+|\\w+' }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: { type: 'ByteLevel', trim_offsets: false },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2, Ġ: 3 }, merges: [['a', 'b']] },
  };
  const unigram = {
    added_tokens: [{ id: 0, content: '<unk>', special: true }],
    normalizer: { type: 'Prepend', prepend: '▁' },
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' },
    model: {
      type: 'Unigram',
      unk_id: 0,
      vocab: [
        ['<unk>', 0],
        ['▁', -1],
        ['a', -2.5],
      ],
    },
  };
  return {
    name: 'tokenizer.json',
    run(folder, random) {
      const json = JSON.stringify(mutateJson(random.pick([bpe, unigram]), random));
      const isBytes = random.below(8) === 0;
      const bytes = Buffer.from(json);
      writeFileSync(join(folder, 'tokenizer.json'), isBytes ? mutateBytes(bytes, random) : bytes);
      const loaded = loadTokenizer(folder);
      loaded.decode(loaded.encode('ab a\n\ud83d\ude00 <|end|>'));
    },
  };
}

function config(): Target {
  const names = ['llama3-rope-q4-g32', 'qwen3-moe', 'gemma3', 'gpt-oss', 'deepseek-v2', 'qwen3.5'];
  const models = names.map((name) => ({
    config: JSON.parse(readFileSync(join(FAMILIES, name, 'config.json'), 'utf8')) as unknown,
    weights: readFileSync(join(FAMILIES, name, 'model.safetensors')),
  }));
  let written: unknown = null;
  return {
    name: 'config.json',
    run(folder, random) {
      const model = random.pick(models.slice(0, 1 + random.below(models.length)));
      if (written !== model) writeFileSync(join(folder, 'model.safetensors'), model.weights);
      written = model;
      const json = JSON.stringify(mutateJson(model.config, random));
      writeFileSync(join(folder, 'config.json'), json);
      withModel(folder, build);
    },
  };
}

function withModel(path: string, use: (model: ModelSource) => void): void {
  const model = openModel(path);
  try {
    use(model);
  } finally {
    model.close();
  }
}

function build(model: ModelSource): void {
  const program = fuse(buildProgram(model.config(), model.weights));
  for (const { name, rows, cols, part } of program.weights) {
    model.weights.weight(name, rows, cols, part);
  }
  model.weights.assertAllUsed();
}

function readEverything(model: ModelSource): void {
  const tokens = model.tokenizer();
  tokens.decode(tokens.encode('ab a\n\ud83d\ude00 <|x|>'));
  model.generationConfig(tokens);
  model.manifest();
  model.chatTemplate(tokens);
  build(model);
}

export const targets = (): readonly Target[] => [safetensors, gguf(), tokenizer(), config()];

/** No file of a few kilobytes may take longer, however slow the machine. */
const MAX_MS = 2_000;

/** Runs one case; returns what is wrong with how it ended, or null. A file that loads is no error. */
export function runCase(target: Target, folder: string, seed: number): string | null {
  const started = performance.now();
  try {
    target.run(folder, new Random(seed));
  } catch (error) {
    if (!(error instanceof EngineError)) {
      return `${target.name}, seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`;
    }
    if (error.code !== 'bad_model' && error.code !== 'unsupported') {
      return `${target.name}, seed ${seed}: code ${error.code}: ${error.message}`;
    }
    if (/[\r\n]/.test(error.message) || error.message.length > 2_000) {
      return `${target.name}, seed ${seed}: not one short line: ${error.message.slice(0, 300)}`;
    }
  }
  const ms = performance.now() - started;
  return ms <= MAX_MS ? null : `${target.name}, seed ${seed}: took ${ms.toFixed(0)} ms`;
}
