/** The life of an executable: cancelled, disposed, several at once. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Draw } from '../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { drawTokens, GREEDY_DRAW } from '../engine/generation/draw_tokens';
import { Runner, TestProgram } from './harness';
import { slowParts as parts, slowRunner } from './slow_runner';

describe('an executable', () => {
  test('ends a cancelled step with code cancelled, and runs the next one', async () => {
    const { runner, test } = await slowRunner();
    const expected = await runner.step(parts);
    const step = runner.step(parts);
    runner.executable.cancel();
    await assert.rejects(step, { code: 'cancelled' });
    runner.executable.cancel(); // none runs: no effect on the next
    assert.deepEqual(await runner.step(parts), expected);
    runner.executable.dispose();
    test.weights.close();
  });

  test('gives tokens instead of the logits of those rows that are drawn from', async () => {
    const test = new TestProgram();
    const program = test.finish(test.linear(test.embed(64, 64), 64));
    const runner = await Runner.create(loadNativeBackend(), program, test.weights);
    const batch = runner.batch([{ tokens: [1, 2, 3, 60], start: 0 }]);
    const logits = await runner.executable.step(batch);
    const draws = [GREEDY_DRAW, null, GREEDY_DRAW, null];
    for (const columns of [64, 33, 1]) {
      const drawn = await runner.executable.stepDrawn?.(batch, draws, columns);
      assert.deepEqual(drawn, drawTokens(logits, draws, columns));
    }
    const refused: [RegExp, (Draw | null)[], number][] = [
      [/columns: got 65, expected 1 to 64/, draws, 65],
      [/draws: got 24 numbers, expected 32/, draws.slice(1), 64],
      [
        /temperature: got -1\.0+, expected 0/,
        [{ ...GREEDY_DRAW, temperature: -1 }, ...draws.slice(1)],
        64,
      ],
      [/topP: got nan/, [{ ...GREEDY_DRAW, topP: NaN }, ...draws.slice(1)], 64],
      [
        /topK: got 1\.50+, expected an integer/,
        [{ ...GREEDY_DRAW, topK: 1.5 }, ...draws.slice(1)],
        64,
      ],
    ];
    for (const [message, wrong, columns] of refused) {
      await assert.rejects(async () => runner.executable.stepDrawn?.(batch, wrong, columns), {
        code: 'bad_request',
        message,
      });
    }
    runner.executable.dispose();
    test.weights.close();
  });

  test('that is disposed during a step ends it, and refuses others', async () => {
    const { runner, test } = await slowRunner();
    const step = runner.step(parts);
    runner.executable.dispose();
    await assert.rejects(step, { code: 'cancelled' });
    await assert.rejects(runner.step(parts), { code: 'unavailable', message: /unloaded/ });
    runner.executable.dispose();
    test.weights.close();
  });

  test('leaves the JavaScript thread free while it computes', async () => {
    const { runner, test } = await slowRunner();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    for (let i = 0; i < 10; i++) await runner.step(parts);
    clearInterval(timer);
    assert.ok(turns > 3, `${turns} turns of the event loop`);
    runner.executable.dispose();
    test.weights.close();
  });

  test('does not outlive its worker thread, even within a step', async () => {
    const files = [require.resolve('tsx/cjs'), path.join(__dirname, 'session_worker.ts')];
    const worker = new Worker(files.map((file) => `require(${JSON.stringify(file)});`).join(''), {
      eval: true,
    });
    await once(worker, 'message');
    assert.equal(await worker.terminate(), 1); // a crash would end this process
  });

  test('shares no memory with another of the same program', async () => {
    const test = new TestProgram();
    const program = test.finish(test.linear(test.embed(64, 64), 64));
    const create = () => Runner.create(loadNativeBackend(), program, test.weights);
    const [a, b] = await Promise.all([create(), create()]);
    const one = [{ tokens: [1, 2, 3], start: 0 }];
    const two = [{ tokens: [9, 8, 7], start: 0 }];
    const expected = [await a.step(one), await b.step(two)];
    for (let i = 0; i < 20; i++) {
      assert.deepEqual(await Promise.all([a.step(one), b.step(two)]), expected);
    }
    a.executable.dispose();
    b.executable.dispose();
    test.weights.close();
  });

  test('says how many bytes of weights a token reads', async () => {
    const test = new TestProgram();
    const coding = { bits: 4, groupSize: 64, scales: 'BF16' } as const;
    const x = test.embed(128, 128, coding);
    const program = test.finish(test.linear(x, 128, coding));
    const { executable } = await Runner.create(loadNativeBackend(), program, test.weights);
    // A row, and a matrix: half a byte a weight and 4 bytes a group.
    assert.equal(executable.bytesPerToken, (128 + 1) * (64 + 2 * 4));
    executable.dispose();
    test.weights.close();
  });

  test('cannot be made for an instruction set that the machine lacks', () => {
    assert.throws(() => loadNativeBackend({ isa: 'mmx' }), {
      code: 'unavailable',
      message: /^instruction set mmx: this machine has .*scalar/,
    });
  });
});
