import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { attentionProgram } from './attention_program';
import { randomTokens, Runner, TestProgram } from './harness';

const spec = { heads: 2, kvHeads: 1, keyDim: 48, valueDim: 24 };
const tokens = randomTokens(60, 48);

async function create(): Promise<{ test: TestProgram; runner: Runner }> {
  const test = new TestProgram();
  const program = attentionProgram(test, spec);
  return { test, runner: await Runner.create(loadNativeBackend(), program, test.weights) };
}

test('kv_write: later tokens see keys and values of earlier steps, and rewritten positions the new ones', async () => {
  const { test, runner } = await create();
  const expected = await runner.step([{ tokens, start: 0 }]);
  await runner.step([{ tokens: tokens.slice(0, 40), start: 0 }]);
  await runner.step([{ tokens: randomTokens(20, 48, 99), start: 40 }]);
  const got = await runner.step([{ tokens: tokens.slice(40), start: 40 }]);
  assert.deepEqual(got, expected.subarray(40 * 48));
  runner.executable.dispose();
  test.weights.close();
});

test('kv_write: blocks that are read and written back elsewhere continue like those that were computed', async () => {
  const { test, runner } = await create();
  const { blockTables } = runner.batch([{ tokens, start: 0 }]);
  const expected = await runner.step([{ tokens, start: 0 }]);
  const other = await create();
  const store = runner.executable.blockStore;
  const target = other.runner.executable.blockStore;
  assert.ok(store !== undefined && target !== undefined);
  const used = blockTables.slice(0, 2);
  const bytes = store.read(used);
  assert.equal(bytes.length, 2 * store.blockBytes);
  const places = Int32Array.of(7, 3);
  target.write(places, bytes);
  assert.deepEqual(target.read(places), bytes);
  const batch = other.runner.batch([{ tokens: tokens.slice(40), start: 40 }]);
  const tables = batch.blockTables.slice();
  tables.set(places);
  const got = await other.runner.executable.step({ ...batch, blockTables: tables });
  assert.deepEqual(got, expected.subarray(40 * 48));
  const bad = { code: 'bad_request' };
  assert.throws(() => target.write(places, bytes.subarray(1)), { ...bad, message: /bytes: got/ });
  assert.throws(() => store.read(Int32Array.of(-1)), { ...bad, message: /block: got -1/ });
  for (const { runner: r, test: t } of [{ runner, test }, other]) {
    r.executable.dispose();
    t.weights.close();
  }
});

test('kv_write: copied blocks continue like the sequence that wrote them', async () => {
  const { test, runner } = await create();
  const { blockTables, blocksPerSequence } = runner.batch([{ tokens, start: 0 }]);
  const expected = await runner.step([{ tokens, start: 0 }]);
  const half = blocksPerSequence / 2;
  const copies = [...blockTables.subarray(0, 2)].flatMap((block, i) => [
    block,
    blockTables[half + i] ?? 0,
  ]);
  runner.executable.copyBlocks?.(Int32Array.from(copies));
  const got = await runner.executable.step({
    ...runner.batch([{ tokens: tokens.slice(40), start: 40 }]),
    blockTables: blockTables.slice(half),
    blocksPerSequence: half,
  });
  assert.deepEqual(got, expected.subarray(40 * 48));
  assert.throws(() => runner.executable.copyBlocks?.(Int32Array.of(0, 5000)), {
    code: 'bad_request',
    message: /block: got 5000, expected 0 to/,
  });
  runner.executable.dispose();
  test.weights.close();
});
