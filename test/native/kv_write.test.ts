import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KvBits } from '../../extension/engine/backend/backend';
import { attentionProgram } from './attention_program';
import {
  backendUnderTest,
  CODE_TOLERANCE,
  randomTokens,
  relativeError,
  Runner,
  TestProgram,
} from './harness';

const spec = { heads: 2, kvHeads: 1, keyDim: 48, valueDim: 24 };
const tokens = randomTokens(60, 48);
const backend = backendUnderTest();
/** Blocks that hold all tokens. */
const BLOCKS = Math.ceil(tokens.length / backend.kvBlockSize);

async function create(kvBits: KvBits): Promise<{ test: TestProgram; runner: Runner }> {
  const test = new TestProgram();
  const program = attentionProgram(test, spec);
  return { test, runner: await Runner.create(backend, program, test.weights, { kvBits }) };
}

/** A GPU sums in another order in a step of another length, and where it rounds to 8 bits a code may be the next one. */
function assertSame(got: Float32Array, expected: Float32Array, kvBits: KvBits): void {
  if (backend.name === 'metal') {
    assert.ok(relativeError(got, expected) <= (kvBits === 8 ? CODE_TOLERANCE : 1e-5));
  } else assert.deepEqual(got, expected);
}

for (const kvBits of [16, 8] as const) {
  describe(`kv_write, ${kvBits} bits`, () => {
    test('later tokens see keys and values of earlier steps, and rewritten positions the new ones', async () => {
      const { test, runner } = await create(kvBits);
      const expected = await runner.step([{ tokens, start: 0 }]);
      await runner.step([{ tokens: tokens.slice(0, 40), start: 0 }]);
      await runner.step([{ tokens: randomTokens(20, 48, 99), start: 40 }]);
      const got = await runner.step([{ tokens: tokens.slice(40), start: 40 }]);
      assertSame(got, expected.subarray(40 * 48), kvBits);
      runner.executable.dispose();
      test.weights.close();
    });

    test('blocks that are read and written back elsewhere continue like those that were computed', async () => {
      const { test, runner } = await create(kvBits);
      const { blockTables } = runner.batch([{ tokens, start: 0 }]);
      const expected = await runner.step([{ tokens, start: 0 }]);
      const other = await create(kvBits);
      const store = runner.executable.blockStore;
      const target = other.runner.executable.blockStore;
      assert.ok(store !== undefined && target !== undefined);
      const bytes = store.read(blockTables.slice(0, BLOCKS));
      assert.equal(bytes.length, BLOCKS * store.blockBytes);
      const places = Int32Array.from({ length: BLOCKS }, (_, i) => 7 - 2 * i);
      target.write(places, bytes);
      assert.deepEqual(target.read(places), bytes);
      const batch = other.runner.batch([{ tokens: tokens.slice(40), start: 40 }]);
      const tables = batch.blockTables.slice();
      tables.set(places);
      const got = await other.runner.executable.step({ ...batch, blockTables: tables });
      assertSame(got, expected.subarray(40 * 48), kvBits);
      const bad = { code: 'bad_request' };
      const short = bytes.subarray(1);
      assert.throws(() => target.write(places, short), { ...bad, message: /bytes: got/ });
      assert.throws(() => store.read(Int32Array.of(-1)), { ...bad, message: /block: got -1/ });
      for (const { runner: r, test: t } of [{ runner, test }, other]) {
        r.executable.dispose();
        t.weights.close();
      }
    });

    test('copied blocks continue like the sequence that wrote them', async () => {
      const { test, runner } = await create(kvBits);
      const { blockTables, blocksPerSequence } = runner.batch([{ tokens, start: 0 }]);
      const expected = await runner.step([{ tokens, start: 0 }]);
      const half = blocksPerSequence / 2;
      const copies = [...blockTables.subarray(0, BLOCKS)].flatMap((block, i) => [
        block,
        blockTables[half + i] ?? 0,
      ]);
      runner.executable.copyBlocks?.(Int32Array.from(copies));
      const got = await runner.executable.step({
        ...runner.batch([{ tokens: tokens.slice(40), start: 40 }]),
        blockTables: blockTables.slice(half),
        blocksPerSequence: half,
      });
      assertSame(got, expected.subarray(40 * 48), kvBits);
      assert.throws(() => runner.executable.copyBlocks?.(Int32Array.of(0, 5000)), {
        code: 'bad_request',
        message: /block: got 5000, expected 0 to/,
      });
      runner.executable.dispose();
      test.weights.close();
    });
  });
}

test('a token takes as many bytes as are planned for it', async () => {
  const { keyDim, valueDim, kvHeads } = spec;
  const { test, runner } = await create(8);
  const withScales = (dim: number) => dim + 4 * Math.ceil(dim / 32);
  // The CPU has values of a multiple of 16 columns.
  const values = backend.name === 'cpu' ? Math.ceil(valueDim / 16) * 16 : valueDim;
  const bytes = kvHeads * (withScales(keyDim) + withScales(values));
  assert.equal(runner.executable.blockStore?.blockBytes, backend.kvBlockSize * bytes);
  runner.executable.dispose();
  test.weights.close();
});
