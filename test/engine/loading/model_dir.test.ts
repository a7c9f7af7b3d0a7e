import assert from 'node:assert/strict';
import { utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, test } from 'node:test';
import { resolveModel } from '../../../extension/engine/loading/model_dir';
import { ollamaRoot } from '../../../extension/engine/loading/ollama';
import { inspectModel, listModels } from '../../../extension/engine/loading/model_list';
import { gguf, text } from './gguf/gguf_fixture';
import {
  assertFails,
  f32,
  FIXTURES,
  safetensors,
  SPROUT,
  temporaryFolder,
  writeFiles,
} from './model_fixture';

const KEYS = [
  'HF_HUB_CACHE',
  'HF_HOME',
  'XDG_CACHE_HOME',
  'OLLAMA_MODELS',
  'HOME',
  'USERPROFILE',
] as const;
const saved = KEYS.map((key) => [key, process.env[key]] as const);

afterEach(() => {
  for (const [key, value] of saved) {
    if (value === undefined) delete process.env[key];
    else process.env[key] = value;
  }
});

/** A home folder of its own, with these files. */
function home(files: Record<string, unknown>): string {
  const folder = writeFiles(temporaryFolder(), files);
  for (const key of KEYS) delete process.env[key];
  process.env.HOME = process.env.USERPROFILE = folder;
  return folder;
}

const HUB = '.cache/huggingface/hub/models--org--name';
const QWEN3 = { model_type: 'qwen3', torch_dtype: 'bfloat16' };
const WEIGHTS = safetensors({ a: f32([1]) });

/** Type ids. */
const [IQ2_XXS, IQ1_M] = [16, 29];
const QWEN3_GGUF = gguf({
  metadata: { 'general.architecture': text('qwen3') },
  tensors: [{ name: 'a', shape: [4] }],
});
const MANIFESTS = '.ollama/models/manifests';

/** A manifest of Ollama and the blob that it names, whose digest repeats one digit. */
function ollama(manifest: string, model: Buffer, digit: string): Record<string, unknown> {
  const hash = digit.repeat(64);
  const layers = [
    { mediaType: 'application/vnd.ollama.image.license', digest: 'sha256:0' },
    { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${hash}` },
  ];
  return {
    [`${MANIFESTS}/${manifest}`]: { layers },
    [`.ollama/models/blobs/sha256-${hash}`]: model,
  };
}

test('nothing named, and its own name, are the embedded model', () => {
  assert.equal(resolveModel(), SPROUT);
  assert.equal(resolveModel('sprout'), SPROUT);
});

test('a folder is itself, and so is a GGUF file; another file is an error that says what is wrong', () => {
  assert.equal(resolveModel(SPROUT), SPROUT);
  const corrupt = join(FIXTURES, 'hostile/14_overlap.safetensors');
  assertFails(() => resolveModel(corrupt), 'bad_model', 'starts at 121, expected 137 (overlap)');
  const gguf = join(writeFiles(temporaryFolder(), { 'x.gguf': 'GGUF' }), 'x.gguf');
  assert.equal(resolveModel(gguf), gguf);
  assert.equal(resolveModel(dirname(gguf)), gguf);
});

test('a repository is the snapshot of main in the Hugging Face cache, else the newest', () => {
  const folder = home({
    [`${HUB}/snapshots/aaaaaaa/config.json`]: QWEN3,
    [`${HUB}/snapshots/bbbbbbb/config.json`]: QWEN3,
    [`${HUB}/snapshots/ccccccc/README.md`]: 'no model',
  });
  utimesSync(join(folder, HUB, 'snapshots/aaaaaaa'), 1, 1);
  assert.equal(resolveModel('org/name'), join(folder, HUB, 'snapshots/bbbbbbb'));
  writeFiles(folder, { [`${HUB}/refs/main`]: 'aaaaaaa\n' });
  assert.equal(resolveModel('org/name'), join(folder, HUB, 'snapshots/aaaaaaa'));
  writeFiles(folder, { [`${HUB}/refs/main`]: '../../../x' });
  assert.equal(resolveModel('org/name'), join(folder, HUB, 'snapshots/bbbbbbb'));
  process.env.HF_HUB_CACHE = temporaryFolder();
  assertFails(
    () => resolveModel('org/name'),
    'bad_request',
    'model "org/name": no such file or folder',
    process.env.HF_HUB_CACHE,
  );
});

test('a repository in LM Studio’s folders', () => {
  const folder = home({ '.lmstudio/models/org/name/config.json': QWEN3 });
  assert.equal(resolveModel('org/name'), join(folder, '.lmstudio/models/org/name'));
});

test('Ollama as a service keeps models elsewhere, for users that have none', () => {
  const folder = home({ 'service/manifests/x': '' });
  const service = join(folder, 'service');
  assert.equal(ollamaRoot(service), service);
  assert.equal(ollamaRoot(join(folder, 'none')), join(folder, '.ollama/models'));
  writeFiles(folder, { [`${MANIFESTS}/x`]: '' });
  assert.equal(ollamaRoot(service), join(folder, '.ollama/models'));
});

test('a model of Ollama’s, with and without its tag, and a manifest that names no file', () => {
  const folder = home(ollama('registry.ollama.ai/library/coder/latest', QWEN3_GGUF, '1'));
  const blob = join(folder, '.ollama/models/blobs', `sha256-${'1'.repeat(64)}`);
  assert.equal(resolveModel('coder'), blob);
  assert.equal(resolveModel('library/coder:latest'), blob);
  assertFails(() => resolveModel('coder:7b'), 'bad_request', 'no such file or folder');
  const digest = 'sha256:../../../../secret';
  const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest }];
  writeFiles(folder, { [`${MANIFESTS}/registry.ollama.ai/library/evil/latest`]: { layers } });
  assertFails(() => resolveModel('evil'), 'bad_model', digest);
  process.env.OLLAMA_MODELS = temporaryFolder();
  assertFails(() => resolveModel('coder'), 'bad_request', process.env.OLLAMA_MODELS);
});

test('a GGUF file of a repository, by its name', () => {
  const folder = home({
    '.lmstudio/models/org/name/q4.gguf': QWEN3_GGUF,
    '.lmstudio/models/org/name/q8.gguf': QWEN3_GGUF,
    blob: QWEN3_GGUF,
  });
  const q8 = '.lmstudio/models/org/name/q8.gguf';
  assert.equal(resolveModel('org/name/q8.gguf'), join(folder, q8));
  assertFails(() => resolveModel('org/name'), 'bad_model', '2 GGUF models, give one of them');
  assertFails(() => resolveModel('org/name/q2.gguf'), 'bad_model', 'no such model folder');
  assert.equal(resolveModel(join(folder, 'blob')), join(folder, 'blob'));
});

test('a name never leads out of these folders', () => {
  home({ 'secret/config.json': QWEN3 });
  for (const name of ['../secret', 'a/../../b', 'org/..', 'a\nb/c']) {
    assertFails(() => resolveModel(name), 'bad_request', 'no such file or folder');
  }
});

test('the list says of each model whether it runs, and why not', () => {
  home({
    [`${HUB}/snapshots/aaaaaaa/config.json`]: {
      ...QWEN3,
      quantization: { bits: 4, group_size: 64 },
    },
    [`${HUB}/snapshots/aaaaaaa/model.safetensors`]: WEIGHTS,
    [`${HUB}/snapshots/aaaaaaa/tokenizer.json`]: {},
    '.cache/huggingface/hub/version.txt': '1',
    '.lmstudio/models/a/gguf/x.gguf': 'GGUF',
    '.lmstudio/models/a/two/config.json': QWEN3,
    '.lmstudio/models/a/two/q4.gguf': QWEN3_GGUF,
    '.lmstudio/models/a/two/rwkv.gguf': gguf({
      metadata: { 'general.architecture': text('rwkv6') },
    }),
    '.lmstudio/models/a/two/gemma-mmproj-f16.gguf': 'GGUF',
    ...ollama('registry.ollama.ai/library/coder/3b', QWEN3_GGUF, 'a'),
    ...ollama('registry.ollama.ai/me/coder/latest', QWEN3_GGUF, 'b'),
    ...ollama('hf.co/org/name-GGUF/Q4_K_M', QWEN3_GGUF, 'c'),
    [`${MANIFESTS}/registry.ollama.ai/library/torn/latest`]: { layers: [] },
    '.lmstudio/models/a/rwkv/config.json': { model_type: 'rwkv' },
    '.lmstudio/models/a/rwkv/model.safetensors': WEIGHTS,
    '.lmstudio/models/a/torn/config.json': '{',
    '.lmstudio/models/a/torn/model.safetensors': WEIGHTS,
    '.lmstudio/models/a/awq/config.json': {
      ...QWEN3,
      quantization_config: { quant_method: 'awq' },
    },
    '.lmstudio/models/a/awq/model.safetensors': WEIGHTS,
  });
  const models = listModels(['qwen3']);
  const rows = models.map((m) => [m.name, m.source, m.quantization, m.unsupported === null]);
  assert.deepEqual(rows, [
    ['sprout', 'embedded', '4-bit', true],
    ['org/name', 'hugging-face', '4-bit', true],
    ['a/awq', 'lm-studio', null, false],
    ['a/gguf', 'lm-studio', null, false],
    ['a/rwkv', 'lm-studio', null, false],
    ['a/torn', 'lm-studio', null, false],
    ['a/two/q4.gguf', 'lm-studio', 'F32', true],
    ['a/two/rwkv.gguf', 'lm-studio', 'none', false],
    ['hf.co/org/name-GGUF:Q4_K_M', 'ollama', 'F32', true],
    ['coder:3b', 'ollama', 'F32', true],
    ['torn:latest', 'ollama', null, false],
    ['me/coder:latest', 'ollama', 'F32', true],
  ]);
  for (const { name, unsupported, path } of models) {
    if (unsupported === null) assert.equal(resolveModel(name), path, name);
  }
  const reasons = models.map((m) => m.unsupported ?? '').slice(2);
  const expected = [/awq/, /truncated at byte 4/, /rwkv; supported: qwen3/, /not JSON/];
  expected.forEach((pattern, i) => assert.match(reasons[i] ?? '', pattern));
  assert.ok((models[0]?.sizeBytes ?? 0) > 20_000_000);
});

test('what is at a path is told: a folder, a file, several files, nothing', () => {
  const folder = home({
    'one/model.gguf': QWEN3_GGUF,
    'two/a.gguf': QWEN3_GGUF,
    'two/b.gguf': QWEN3_GGUF,
    'image/config.json': { model_type: 'gemma3', text_config: QWEN3 },
    'image/model.safetensors': WEIGHTS,
    'image/tokenizer.json': {},
    'script.py': 'import os',
    'ud/iq2.gguf': gguf({
      metadata: { 'general.architecture': text('qwen3') },
      tensors: [
        { name: 'v.a', type: IQ1_M, shape: [256] },
        { name: 'token_embd.weight', type: IQ2_XXS, shape: [256] },
      ],
    }),
  });
  const reason = (name: string) => inspectModel(join(folder, name), ['qwen3']).unsupported;
  assert.equal(reason('one'), null);
  assert.equal(inspectModel(join(folder, 'one'), ['qwen3']).path, join(folder, 'one/model.gguf'));
  assert.equal(reason('one/model.gguf'), null);
  // The language part of an image model is what runs.
  assert.equal(reason('image'), null);
  assert.match(reason('two') ?? '', /several GGUF files: choose one/);
  assert.match(reason('none') ?? '', /is not there/);
  assert.match(reason('ud') ?? '', /IQ2_XXS are not supported/);
  assert.match(reason('script.py') ?? '', /GGUF/);
  assert.match(reason('.') ?? '', /no safetensors weights and no GGUF file/);
});
