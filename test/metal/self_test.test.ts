/** What a GPU may not do that fails a part of its self-test: each kernel does nothing in a process of its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { buildSoftAddon } from './build.mjs';
import { skip } from './runner';

const ROOT = resolve(__dirname, '../..');

/** The backend's description and whether it draws, or why there is none. */
const SCRIPT = `
  const { loadMetalBackend } = require('./extension/engine/backend/native');
  const { loadEngine } = require('./extension/engine/load_engine');
  const { GREEDY } = require('./extension/engine/generation/types');
  const { embeddedModel } = require('./extension/engine/loading/model_dir');
  async function main() {
    let description = '';
    let engine;
    try {
      ({ description } = loadMetalBackend());
      const kvBits = Number(process.argv[1]);
      const options = { backend: 'metal', precision: 'exact', threads: 0, contextLength: 64, kvBits };
      engine = await loadEngine({ modelDir: embeddedModel(), ...options });
    } catch (error) {
      console.log(JSON.stringify({ description: error.message, ids: [] }));
      return;
    }
    const ids = engine.tokenizer.encode('for (let i');
    const result = await engine.generate({ ids, maxTokens: 2, sampling: GREEDY, stop: [] });
    console.log(JSON.stringify({ description, ids: result.ids }));
    await engine.dispose();
  }
  void main();
`;

function run(broken: string, kvBits = 16): { description: string; ids: readonly number[] } {
  const words = ['--import', 'tsx', '-e', SCRIPT, String(kvBits)];
  const { stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, ANLLM_SOFT_BROKEN: broken, NODE_TEST_CONTEXT: undefined },
  });
  assert.ok(stdout.startsWith('{'), stderr);
  return JSON.parse(stdout) as ReturnType<typeof run>;
}

describe('a GPU that does not do what it should', { skip }, () => {
  let whole: ReturnType<typeof run>;
  before(async () => {
    process.env.ANLLM_PREBUILD = await buildSoftAddon();
    whole = run('');
    assert.equal(whole.ids.length, 2);
  });

  test('draws no tokens where only that is wrong, and writes the same', () => {
    const { description, ids } = run('sample');
    assert.equal(description, `${whole.description}, tokens drawn on the CPU`);
    assert.deepEqual(ids, whole.ids);
  });

  test('has keys and values of 16 bits where only those of 8 are wrong', () => {
    assert.deepEqual(run('attention_decode/i8'), whole);
    const { description, ids } = run('attention_decode/i8', 8);
    assert.match(description, /fails its self-test: attention of one row over 8 bits.*kv-bits 16/);
    assert.deepEqual(ids, []);
  });

  for (const kernel of ['linear_matvec', 'gated_delta_step', 'gated_delta_chunk']) {
    test(`is not used without ${kernel}`, () => {
      const { description, ids } = run(kernel);
      assert.match(description, /fails its self-test: .*; use --backend cpu/);
      assert.deepEqual(ids, []);
    });
  }

  test('is told part by part by anllm doctor', () => {
    const command = ['--import', 'tsx', 'extension/engine/cli.ts', 'doctor', '--json'];
    const { stdout, stderr } = spawnSync(process.execPath, command, {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, ANLLM_SOFT_BROKEN: 'linear_matvec', NODE_TEST_CONTEXT: undefined },
    });
    assert.ok(stdout.startsWith('{'), stderr);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean }[] };
    const of = (name: string) => checks.find((check) => check.name === name)?.ok;
    assert.equal(of('metal backend'), false);
    assert.equal(of('metal self-test, matrix times one row'), false);
    assert.equal(of('metal self-test, norm'), true);
    assert.equal(of('built-in model on cpu'), true);
    assert.equal(of('built-in model on metal'), undefined);
  });
});
