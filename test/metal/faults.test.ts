/** A GPU that stops in the middle of a step: what was asked for is done again, or refused, and the next step works. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { loadMetalBackend } from '../../extension/engine/backend/native';
import { loadEngine } from '../../extension/engine/load_engine';
import { GREEDY } from '../../extension/engine/generation/types';
import { embeddedModel } from '../../extension/engine/loading/model_dir';
import { attentionProgram } from '../native/attention_program';
import { randomTokens, Runner, TestProgram, type Part } from '../native/harness';
import { buildSoftAddon } from './build.mjs';
import { skip } from './runner';

let wanted = 0;
/** The next command buffers of the soft device fail; each call has a value of its own, which the device sees as new. */
function failNext(count: number): void {
  process.env.ANLLM_SOFT_FAULTS = `${count},${++wanted}`;
}

describe('a GPU that stops', { skip }, () => {
  before(async () => {
    process.env.ANLLM_PREBUILD = await buildSoftAddon();
  });
  after(() => {
    delete process.env.ANLLM_SOFT_FAULTS;
  });

  const spec = { heads: 2, kvHeads: 1, keyDim: 32, valueDim: 32 };
  const tokens = randomTokens(40, 64);
  const prompt: Part[] = [{ tokens: tokens.slice(0, 39), start: 0 }];
  const next: Part[] = [{ tokens: tokens.slice(39), start: 39 }];

  async function start(): Promise<{ runner: Runner; expected: Float32Array; end: () => void }> {
    const model = new TestProgram();
    const runner = await Runner.create(
      loadMetalBackend(),
      attentionProgram(model, spec),
      model.weights,
    );
    await runner.step(prompt);
    const expected = await runner.step(next);
    const end = () => {
      runner.executable.dispose();
      model.weights.close();
    };
    return { runner, expected, end };
  }

  test('once: the step is done again, over the keys and values of before', async () => {
    const { runner, expected, end } = await start();
    failNext(1);
    assert.deepEqual(await runner.step(next), expected);
    end();
  });

  test('twice: the step fails, and says what to do; the next one works', async () => {
    const { runner, expected, end } = await start();
    failNext(2);
    await assert.rejects(runner.step(next), {
      code: 'internal',
      message: /a fault that a test wanted \(twice\); ask again, or use --backend cpu/,
    });
    assert.deepEqual(await runner.step(next), expected);
    end();
  });

  test('with recurrent state: the step fails at once, and the sequence begins anew', async () => {
    const model = new TestProgram();
    const delta = { keyHeads: 1, valueHeads: 2, keyDim: 8, valueDim: 8, taps: 3 };
    const channels = 2 * delta.keyHeads * delta.keyDim + delta.valueHeads * delta.valueDim;
    const out = model.value(delta.valueHeads * delta.valueDim);
    const x = model.linear(model.embed(16, 32), channels + 2 * delta.valueHeads);
    model.push({
      op: 'gated_delta',
      layer: model.stateLayer(delta),
      x,
      conv: model.vector(channels * delta.taps),
      decay: model.vector(delta.valueHeads),
      timeBias: model.vector(delta.valueHeads),
      out,
    });
    const runner = await Runner.create(loadMetalBackend(), model.finish(out), model.weights);
    const first: Part[] = [{ tokens: [1, 2, 3], start: 0 }];
    const expected = await runner.step(first);
    failNext(1);
    await assert.rejects(runner.step([{ tokens: [4], start: 3 }]), { code: 'internal' });
    await assert.rejects(runner.step([{ tokens: [4], start: 3 }]), { code: 'bad_request' });
    assert.deepEqual(await runner.step(first), expected);
    runner.executable.dispose();
    model.weights.close();
  });

  test('the request that ran ends with the reason, and the next one is answered', async () => {
    const engine = await loadEngine({
      modelDir: embeddedModel(),
      backend: 'metal',
      precision: 'exact',
      threads: 0,
      contextLength: 128,
    });
    const ids = engine.tokenizer.encode('let a = ');
    const request = { ids, maxTokens: 2, sampling: GREEDY, stop: [] };
    const expected = await engine.generate(request);
    failNext(2);
    await assert.rejects(engine.generate(request), { message: /ask again/ });
    engine.checkIntegrity();
    assert.deepEqual((await engine.generate(request)).ids, expected.ids);
    await engine.dispose();
  });
});
