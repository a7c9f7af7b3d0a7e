import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { argmax, sample } from '../../../extension/engine/generation/sampler';
import { GREEDY, type SamplingParams } from '../../../extension/engine/generation/types';

const LOGITS = [1, 3, 2, 0, -1];

function draws(params: Partial<SamplingParams>, count = 3000, logits = LOGITS): number[] {
  const counts = logits.map(() => 0);
  for (let i = 0; i < count; i++) {
    const id = sample(Float32Array.from(logits), { ...GREEDY, temperature: 1, ...params }, [], i);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts.map((c) => c / count);
}

function softmax(logits: readonly number[], temperature = 1): number[] {
  const weights = logits.map((x) => Math.exp(x / temperature));
  const total = weights.reduce((sum, w) => sum + w, 0);
  return weights.map((w) => w / total);
}

function near(got: readonly number[], expected: readonly number[]): void {
  for (const [i, p] of expected.entries())
    assert.ok(Math.abs((got[i] ?? 0) - p) < 0.03, `${got.join()} is not ${expected.join()}`);
}

describe('sampler', () => {
  test('temperature 0 takes the likeliest, the lowest id among equals', () => {
    assert.equal(sample(Float32Array.from(LOGITS), GREEDY, [], 0), 1);
    assert.equal(argmax(Float32Array.of(1, 5, 5, 2)), 1);
    assert.equal(argmax(Float32Array.of(NaN, 1)), 1);
  });

  test('draws follow the softmax at any temperature', () => {
    near(draws({}), softmax(LOGITS));
    near(draws({ temperature: 2 }), softmax(LOGITS, 2));
  });

  test('top-k keeps k tokens', () => {
    const [a, b] = softmax([3, 2]);
    near(draws({ topK: 2 }), [0, a ?? 0, b ?? 0, 0, 0]);
    near(draws({ topK: 1 }), [0, 1, 0, 0, 0]);
  });

  test('top-p keeps the smallest set with at least that mass', () => {
    near(draws({ topP: 0.5 }), [0, 1, 0, 0, 0]); // 0.64 by itself
    const [a, b] = softmax([3, 2]);
    near(draws({ topP: 0.7 }), [0, a ?? 0, b ?? 0, 0, 0]);
  });

  test('min-p drops tokens below a share of the likeliest', () => {
    const [a, b] = softmax([3, 2]);
    near(draws({ minP: 0.2 }), [0, a ?? 0, b ?? 0, 0, 0]); // shares 1, 0.37, 0.14, …
  });

  test('the repetition penalty lowers recent tokens, whatever the sign of their logits', () => {
    const params = { ...GREEDY, repetitionPenalty: 2 };
    assert.equal(sample(Float32Array.of(3, 2, 1), params, [0], 0), 1);
    assert.equal(sample(Float32Array.of(-1, -1.5, -3), params, [0], 0), 1);
    const window = { ...params, repetitionWindow: 1 };
    assert.equal(sample(Float32Array.of(3, 2, 1), window, [0, 2], 0), 0);
  });

  test('only allowed ids are drawn', () => {
    assert.equal(sample(Float32Array.from(LOGITS), GREEDY, [], 0, [3, 4]), 3);
    for (let i = 0; i < 50; i++) {
      const id = sample(Float32Array.from(LOGITS), { ...GREEDY, temperature: 1 }, [], i, [0, 4]);
      assert.ok(id === 0 || id === 4);
    }
  });

  test('the same seed and index draw the same token', () => {
    const once = () =>
      Array.from({ length: 40 }, (_, i) =>
        sample(Float32Array.from(LOGITS), { ...GREEDY, temperature: 1, seed: 9 }, [], i),
      );
    assert.deepEqual(once(), once());
  });
});
