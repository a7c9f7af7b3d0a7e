import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import type { Program, StateLayerSpec } from '../../extension/engine/core/program';
import {
  assertMatchesReference,
  backendUnderTest,
  randomTokens,
  Runner,
  TestProgram,
} from './harness';

const SPEC: StateLayerSpec = { keyHeads: 2, valueHeads: 4, keyDim: 24, valueDim: 16, taps: 4 };

/** `layers` products of large matrices come first; with many of them a step takes some milliseconds. */
function stateProgram(test: TestProgram, spec = SPEC, layers = 0): Program {
  const { keyHeads, valueHeads, keyDim, valueDim, taps } = spec;
  const vocab = valueHeads * valueDim;
  const channels = 2 * keyHeads * keyDim + vocab;
  const layer = test.stateLayer(spec);
  const width = layers > 0 ? 512 : 64;
  let hidden = test.embed(vocab, width);
  const weights = layers > 0 ? [test.matrix(width, width, 'F32', 0.05)] : [];
  for (let i = 0; i < layers; i++) {
    const next = test.value(width);
    const plain = { biases: [null], norm: null, residual: null };
    test.push({ op: 'linear', x: hidden, weights, ...plain, out: next });
    hidden = next;
  }
  const out = test.value(vocab);
  test.push({
    op: 'gated_delta',
    x: test.linear(hidden, channels + 2 * valueHeads + 5),
    layer,
    conv: test.vector(channels * taps),
    decay: test.vector(valueHeads),
    timeBias: test.vector(valueHeads),
    out,
  });
  return test.finish(out);
}

const tokens = randomTokens(90, SPEC.valueHeads * SPEC.valueDim);
const part = (start: number, end: number) => ({ tokens: tokens.slice(start, end), start });

describe('gated_delta', () => {
  const specs: Record<string, StateLayerSpec> = {
    'two value heads a key head': SPEC,
    'tiled value heads': { ...SPEC, tiled: true },
    'wide values': { keyHeads: 2, valueHeads: 2, keyDim: 32, valueDim: 136, taps: 2 },
    'odd dimensions': { keyHeads: 1, valueHeads: 3, keyDim: 20, valueDim: 27, taps: 3 },
  };
  for (const [name, spec] of Object.entries(specs)) {
    test(`a prompt in chunks, single tokens, and a second sequence: ${name}`, async () => {
      const program = new TestProgram();
      const other = { tokens: [3, 1, 4, 1, 5], start: 0 };
      const steps = [
        [part(0, 2), other],
        [part(2, 61), { tokens: [9], start: 5 }],
        [part(61, 62)],
        [part(62, 63), { tokens: [2, 6], start: 6 }],
        [part(63, 90)],
        [part(0, 7)],
      ];
      await assertMatchesReference(program, stateProgram(program, spec), steps, {
        sequences: 2,
        fastTolerance: 1e-4,
      });
    });
  }
});

describe('state slots', () => {
  async function withRunner(body: (runner: Runner) => Promise<void>, layers = 0): Promise<void> {
    const test = new TestProgram();
    const program = stateProgram(test, SPEC, layers);
    const runner = await Runner.create(loadNativeBackend(), program, test.weights, {
      sequences: 2,
    });
    await body(runner);
    runner.executable.dispose();
    test.weights.close();
  }

  test('a copied state goes on like the one that it was copied from', () =>
    withRunner(async (runner) => {
      await runner.step([part(0, 20)]);
      runner.executable.copyState?.(0, 1);
      const expected = await runner.step([part(20, 40)], 0);
      assert.deepEqual(await runner.step([part(20, 40)], 1), expected);
    }));

  test('a state that is read and written elsewhere goes on like the one that was computed', async () => {
    const create = async () => {
      const test = new TestProgram();
      const program = stateProgram(test);
      const options = { sequences: 2 };
      return {
        test,
        runner: await Runner.create(backendUnderTest(), program, test.weights, options),
      };
    };
    const [one, other] = [await create(), await create()];
    const { stateStore: store } = one.runner.executable;
    const { stateStore: target } = other.runner.executable;
    assert.ok(store !== undefined && target !== undefined);
    await one.runner.step([part(0, 20)]);
    const bytes = store.read(0);
    assert.equal(bytes.length, store.stateBytes);
    const expected = await one.runner.step([part(20, 40)]);
    target.write(1, 20, bytes);
    assert.deepEqual(target.read(1), bytes);
    assert.deepEqual(await other.runner.step([part(20, 40)], 1), expected);
    const bad = { code: 'bad_request' };
    assert.throws(() => target.write(1, 20, bytes.subarray(1)), { ...bad, message: /bytes: got/ });
    for (const slot of [-1, 2]) {
      assert.throws(() => target.write(slot, 20, bytes), { ...bad, message: /write_state.*slot/ });
      assert.throws(() => target.read(slot), { ...bad, message: /read_state.*slot/ });
    }
    for (const { runner, test } of [one, other]) {
      runner.executable.dispose();
      test.weights.close();
    }
  });

  test('a sequence must go on where its slot stands', () =>
    withRunner(async (runner) => {
      await runner.step([part(0, 20)]);
      await assert.rejects(runner.step([part(19, 21)]), {
        code: 'bad_request',
        message: '[step] state slot 0 holds 20 tokens, expected 19',
      });
      await runner.step([part(20, 21)]);
    }));

  test('a cancelled step leaves its slot void until it starts anew', () =>
    withRunner(async (runner) => {
      await runner.step([part(0, 20)]);
      const cancelled = runner.step([part(20, 90)]);
      runner.executable.cancel();
      await assert.rejects(cancelled, { code: 'cancelled' });
      await assert.rejects(runner.step([part(20, 21)]), {
        code: 'bad_request',
        message: '[step] state slot 0 is void after a failed step, expected 20',
      });
      assert.throws(() => runner.executable.stateStore?.read(0), {
        code: 'bad_request',
        message: '[read_state] state slot 0 is void after a failed step',
      });
      await runner.step([part(0, 20)]);
    }, 60));

  const slots = { 'too few': [0], 'shared by two': [1, 1], 'beyond the last': [0, 2] };
  for (const [name, stateSlots] of Object.entries(slots)) {
    test(`are refused when ${name}`, () =>
      withRunner(async (runner) => {
        const batch = runner.batch([part(0, 2), part(0, 3)]);
        const changed = { ...batch, stateSlots: Int32Array.from(stateSlots) };
        await assert.rejects(runner.executable.step(changed), {
          code: 'bad_request',
          message: /state slot/,
        });
        assert.throws(() => runner.executable.copyState?.(0, 2), { code: 'bad_request' });
      }));
  }
});
