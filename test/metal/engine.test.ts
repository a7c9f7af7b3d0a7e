/** The engine on the soft device: whole models, and the same tests of single ops that the CPU has. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { metalDevice } from '../../extension/engine/backend/metal_device';
import { loadMetalBackend, loadNativeBackend } from '../../extension/engine/backend/native';
import { agreementOf } from '../../extension/engine/cli/verify';
import { fuse } from '../../extension/engine/core/fuse';
import type { Engine } from '../../extension/engine/engine';
import { loadEngine } from '../../extension/engine/load_engine';
import { GREEDY } from '../../extension/engine/generation/types';
import { embeddedModel } from '../../extension/engine/loading/model_dir';
import { ownCacheFolder } from '../cache_folder';
import { answerOf, VOCAB_SIZE } from '../engine/generation/saved/process';
import { hiddenError } from '../engine/generation/hidden';
import { convertedTo, GGUF_FAMILIES } from '../engine/loading/gguf/families';
import { temporaryFolder } from '../engine/loading/model_fixture';
import { buildSoftAddon } from './build.mjs';
import { skip } from './runner';

const ROOT = resolve(__dirname, '../..');
/** Sums in another order: seen up to 7e-6. */
const MAX_RELATIVE_ERROR = 1e-4;
/** binary16 activations, keys and values. */
const MIN_COSINE = 0.999;
/** And keys and values of 8 bits: these random models magnify errors as no trained one does. */
const MIN_COSINE_8_BITS = 0.997;

before(async () => {
  if (skip === false) process.env.ANLLM_PREBUILD = await buildSoftAddon();
});

const SHARED = join(ROOT, '../shared/conformance');

const folders = ['conformance', 'families'].flatMap((set) => {
  const path = join(ROOT, 'test/fixtures', set);
  return readdirSync(path).map((name) => ({ name, path: join(path, name) }));
});

describe('logits and greedy tokens on the soft device', { skip }, () => {
  for (const { name, path } of folders) {
    test(`${name}, exact`, async () => {
      const agreement = await agreementOf(path, loadMetalBackend(), 'exact');
      assert.ok(agreement.relError <= MAX_RELATIVE_ERROR, `${agreement.relError}`);
      assert.ok(agreement.greedyEqual, 'greedy tokens differ');
    });
  }

  for (const name of GGUF_FAMILIES) {
    test(`${name} from a GGUF file, exact`, async () => {
      const file = convertedTo(temporaryFolder(), join(ROOT, 'test/fixtures/families', name));
      const agreement = await agreementOf(file, loadMetalBackend(), 'exact');
      assert.ok(agreement.relError <= MAX_RELATIVE_ERROR, `${agreement.relError}`);
      assert.ok(agreement.greedyEqual, 'greedy tokens differ');
    });
  }

  for (const name of [
    'qwen3-mlx-q4-g64',
    'gemma3',
    'qwen3-moe',
    'qwen3-next',
    'deepseek-v2-lite',
  ]) {
    test(`${name}, fast`, async () => {
      const { path } = folders.find((folder) => folder.name === name) ?? assert.fail(name);
      const { cosine } = await agreementOf(path, loadMetalBackend(), 'fast');
      assert.ok(cosine >= MIN_COSINE, `${cosine}`);
    });
  }
});

/** Random routers are near ties all over: a code further sends a row to other experts. */
const IS_ROUTED = /moe|gpt-oss|deepseek|next/;

describe('keys and values of 8 bits on the soft device', { skip }, () => {
  for (const { name, path } of folders.filter(({ name }) => !IS_ROUTED.test(name))) {
    test(`${name}, exact: as far from another implementation as the CPU`, async () => {
      const backends = [loadMetalBackend(), loadNativeBackend()];
      const [onMetal, onCpu] = await Promise.all(
        backends.map((backend) => agreementOf(path, backend, 'exact', fuse, 8)),
      );
      const difference = Math.abs((onMetal?.cosine ?? NaN) - (onCpu?.cosine ?? NaN));
      assert.ok(difference <= MAX_RELATIVE_ERROR, `cosines differ by ${difference}`);
    });
  }

  for (const name of ['qwen3-mlx-q4-g64', 'gemma3', 'deepseek-v2-lite']) {
    test(`${name}, fast`, async () => {
      const { path } = folders.find((folder) => folder.name === name) ?? assert.fail(name);
      const { cosine } = await agreementOf(path, loadMetalBackend(), 'fast', fuse, 8);
      assert.ok(cosine >= MIN_COSINE_8_BITS, `${cosine}`);
    });
  }

  test('a prompt that parts from another one within a block is answered like a cold one', async () => {
    const engine = await loadWithEight();
    const ids = engine.tokenizer.encode('for (let i = 0; i < items.length; i++) {\n  const x');
    const other = [...ids.slice(0, -3), ...ids.slice(0, 3)];
    await answer(engine, ids);
    const warm = await answer(engine, other);
    await engine.dispose();
    assert.equal(warm.cachedTokens, ids.length - 3);
    const alone = await loadWithEight();
    const cold = await answer(alone, other);
    await alone.dispose();
    assert.equal(cold.cachedTokens, 0);
    assert.deepEqual(warm.ids, cold.ids);
  });
});

const loadWithEight = () =>
  loadEngine({
    modelDir: embeddedModel(),
    backend: 'metal',
    precision: 'exact',
    threads: 0,
    contextLength: 256,
    kvBits: 8,
  });

async function answer(engine: Engine, ids: readonly number[]) {
  const result = await engine.generate({ ids, maxTokens: 3, sampling: GREEDY, stop: [] });
  engine.checkIntegrity();
  return result;
}

for (const name of ['qwen3', 'gemma3', 'qwen3-next']) {
  test(`hidden states of ${name} lead to its logits`, { skip }, async () => {
    const { path } = folders.find((folder) => folder.name === name) ?? assert.fail(name);
    const error = await hiddenError(path, loadMetalBackend(), 'exact');
    assert.ok(error <= MAX_RELATIVE_ERROR, `${error}`);
  });
}

describe('larger checkpoints of the same families on the soft device', () => {
  const isThere = existsSync(SHARED);
  const skipShared = skip || (isThere ? false : 'they are not there; the fixtures cover the same');
  for (const name of isThere ? readdirSync(SHARED) : ['../shared/conformance']) {
    test(name, { skip: skipShared }, async () => {
      const agreement = await agreementOf(join(SHARED, name), loadMetalBackend(), 'exact');
      assert.ok(agreement.relError <= MAX_RELATIVE_ERROR, `${agreement.relError}`);
      assert.ok(agreement.greedyEqual, 'greedy tokens differ');
    });
  }
});

test('the built-in model writes the same tokens as on the CPU', { skip }, async () => {
  // Few: the soft device takes half a second a token.
  const [onCpu, onMetal] = [await generate('cpu'), await generate('metal')];
  assert.equal(onCpu.length, 6);
  assert.deepEqual(onMetal, onCpu);
});

test('a hybrid goes on after a restart with what was kept on disk', { skip }, async (t) => {
  t.after(ownCacheFolder().restore);
  const of = { name: 'qwen3.5', backend: loadMetalBackend(), precision: 'fast' } as const;
  const ids = Array.from({ length: 520 }, (_, i) => (i * i) % VOCAB_SIZE);
  const cold = await answerOf(of, ids, 2);
  const warm = await answerOf(of, ids, 2);
  assert.equal(warm.cachedTokens, 512);
  assert.deepEqual(warm.ids, cold.ids);
});

async function generate(backend: 'cpu' | 'metal'): Promise<readonly number[]> {
  const engine = await loadEngine({
    modelDir: embeddedModel(),
    backend,
    precision: 'exact',
    threads: 0,
    contextLength: 256,
  });
  const ids = engine.tokenizer.encode('for (let i = 0; i < items.');
  const result = await engine.generate({ ids, maxTokens: 6, sampling: GREEDY, stop: [] });
  await engine.dispose();
  return result.ids;
}

test('ops agree with the reference', { skip }, () => {
  const folder = join(ROOT, 'test/native');
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .filter((file) => /assertMatchesReference|backendUnderTest/.test(readFileSync(file, 'utf8')));
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--test', '--test-concurrency=1', '--test-reporter=spec', ...files],
    {
      cwd: ROOT,
      encoding: 'utf8',
      // Without NODE_TEST_CONTEXT the child reports in words.
      env: { ...process.env, ANLLM_TEST_BACKEND: 'metal', NODE_TEST_CONTEXT: undefined },
    },
  );
  assert.equal(status, 0, stdout);
});

test('the self-test passes on the soft device', { skip }, () => {
  const parts = metalDevice()?.selfTest ?? [];
  assert.ok(parts.length >= 7);
  for (const { name, error, failure, isGood } of parts)
    assert.ok(isGood, `${name}: ${error} ${failure}`);
});
