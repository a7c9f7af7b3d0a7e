import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sample } from '../../../extension/engine/generation/sampler';
import { GREEDY, type SamplingParams } from '../../../extension/engine/generation/types';

/** Greedy over five tokens whose last `generated` of `history` are the answer. */
function draw(
  logits: readonly number[],
  params: Partial<SamplingParams>,
  history: readonly number[],
  generated: number,
): number {
  return sample(Float32Array.from(logits), { ...GREEDY, ...params }, history, generated);
}

describe('penalties', () => {
  test('presence counts once, frequency each time', () => {
    assert.equal(draw([3, 2.5, 0], { presencePenalty: 1 }, [0], 1), 1);
    assert.equal(draw([3, 1.5, 0], { presencePenalty: 1 }, [0, 0, 0], 3), 0);
    assert.equal(draw([3, 1.5, 0], { frequencyPenalty: 1 }, [0, 0, 0], 3), 1);
  });

  test('the prompt does not count', () => {
    assert.equal(draw([3, 2.5, 0], { presencePenalty: 2, frequencyPenalty: 2 }, [0, 0, 2], 1), 0);
  });

  test('negative penalties encourage', () => {
    assert.equal(draw([3, 2.5, 0], { presencePenalty: -1 }, [1], 1), 1);
  });

  test('a bias can force and forbid tokens, and does nothing outside of the vocabulary', () => {
    assert.equal(draw([3, 2, 0], { logitBias: new Map([[2, 100]]) }, [], 0), 2);
    assert.equal(draw([3, 2, 0], { logitBias: new Map([[0, -100]]) }, [], 0), 1);
    assert.equal(draw([3, 2, 0], { logitBias: new Map([[7, 100]]) }, [], 0), 0);
  });

  test('the same bias on every token changes nothing', () => {
    const logitBias = new Map([0, 1, 2].map((id) => [id, -100]));
    assert.equal(draw([3, 2, 0], { logitBias }, [], 0), 0);
  });
});
