/** The switches for finding out what is at fault. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createReferenceBackend } from '../../extension/engine/backend/reference';
import { loadEngine } from '../../extension/engine/load_engine';
import { embeddedModel } from '../../extension/engine/loading/model_dir';
import { attentionProgram } from './attention_program';
import { backendUnderTest, randomTokens, relativeError, Runner, TestProgram } from './harness';
import { codingName, type Coding } from './weights';

const backend = backendUnderTest();
const isMetal = backend.name === 'metal';

describe('force_dequantized', () => {
  const codings: Coding[] = [
    { bits: 2, groupSize: 128, scales: 'F16' },
    { bits: 4, groupSize: 64, scales: 'BF16' },
    { bits: 5, groupSize: 32, scales: 'F32' },
    { bits: 8, groupSize: 64, scales: 'BF16' },
    { blocks: 'Q4_1' },
    { blocks: 'Q6_K' },
    { mode: 'mxfp4' },
    'BF16',
  ];
  for (const coding of codings) {
    test(`multiplies by the float32 values of ${codingName(coding)}, without rounding`, async () => {
      const model = new TestProgram();
      const program = model.finish(model.linear(model.embed(37, 256), 37, coding));
      const step = [{ tokens: randomTokens(9, 37), start: 0 }];
      const reference = await Runner.create(createReferenceBackend(), program, model.weights);
      // A GPU keeps halves between matrices when it is to be fast.
      const precision = isMetal ? 'exact' : 'fast';
      const options = { precision, forceDequantized: true } as const;
      const forced = await Runner.create(backend, program, model.weights, options);
      const plain = await Runner.create(backend, program, model.weights);
      const error = relativeError(await forced.step(step), await reference.step(step));
      assert.ok(error < 1e-5, `${error}`);
      const { bytesPerToken } = forced.executable;
      if (typeof coding === 'object' && 'bits' in coding)
        assert.ok(bytesPerToken > 1.5 * plain.executable.bytesPerToken);
      for (const { executable } of [reference, forced, plain]) executable.dispose();
      model.weights.close();
    });
  }
});

test('decode_attention_kernel: without it, one token over many keys gives the same', async () => {
  const model = new TestProgram();
  const spec = { heads: 2, kvHeads: 1, keyDim: 32, valueDim: 32 };
  const program = attentionProgram(model, spec);
  const tokens = randomTokens(500, 64);
  const outputs: Float32Array[] = [];
  for (const decodeAttentionKernel of [true, false]) {
    const options = { threads: 4, decodeAttentionKernel };
    const runner = await Runner.create(backend, program, model.weights, options);
    for (let start = 0; start < 499; start += 90) {
      await runner.step([{ tokens: tokens.slice(start, Math.min(start + 90, 499)), start }]);
    }
    outputs.push(await runner.step([{ tokens: tokens.slice(499), start: 499 }]));
    runner.executable.dispose();
  }
  const [one = new Float32Array(), other = new Float32Array()] = outputs;
  // On a GPU another kernel serves, whose sums have another order.
  if (isMetal) assert.ok(relativeError(one, other) < 1e-5);
  else assert.deepEqual(one, other);
  assert.ok(one.some((value) => value !== 0));
  model.weights.close();
});

describe('kernels', () => {
  const load = (name: 'auto' | 'cpu' | 'metal', kernels: boolean) =>
    loadEngine({
      modelDir: embeddedModel(),
      backend: name,
      precision: 'fast',
      threads: 0,
      contextLength: 64,
      features: { kernels },
    });

  test('off: the reference backend computes, and that is no fallback', async () => {
    const engine = await load('auto', false);
    assert.deepEqual([engine.info.backend, engine.info.fallbackReason], ['reference', null]);
    await engine.dispose();
  });

  for (const name of ['cpu', 'metal'] as const) {
    test(`off, with ${name}, which is made of kernels`, () =>
      assert.rejects(load(name, false), {
        code: 'bad_request',
        message: new RegExp(`backend ${name} without`),
      }));
  }
});
