import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { logprobsOf, MIN_LOGPROB } from '../../../extension/engine/generation/logprobs';

describe('log probabilities', () => {
  test('are the logarithms of the softmax', () => {
    const logits = Float32Array.of(1, 3, 2, -1);
    const { logprob, top } = logprobsOf(logits, 2, 4);
    const total = logits.reduce((sum, x) => sum + Math.exp(x), 0);
    assert.ok(Math.abs(logprob - Math.log(Math.exp(2) / total)) < 1e-12);
    const mass = top.reduce((sum, item) => sum + Math.exp(item.logprob), 0);
    assert.ok(Math.abs(mass - 1) < 1e-12);
  });

  test('the likeliest come first, the lower id among equals', () => {
    const logits = Float32Array.of(1, 3, 2, 3, 2);
    const ids = (count: number) => logprobsOf(logits, 0, count).top.map(({ id }) => id);
    assert.deepEqual(ids(5), [1, 3, 2, 4, 0]);
    assert.deepEqual(ids(3), [1, 3, 2]);
    assert.deepEqual(ids(0), []);
    assert.deepEqual(ids(9), [1, 3, 2, 4, 0]);
  });

  test('probability zero has a floor, and large logits do not overflow', () => {
    const { logprob, top } = logprobsOf(Float32Array.of(-Infinity, 1000, 999), 0, 1);
    assert.equal(logprob, MIN_LOGPROB);
    assert.ok(Math.abs((top[0]?.logprob ?? 0) + Math.log(1 + Math.exp(-1))) < 1e-9);
  });
});
