/** For small models a token's time on a GPU is its number of dispatches (docs/metal.md), so that is tested. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { loadCounter, programOf, QWEN3_06B, QWEN3_30B_A3B } from './published';
import { skip } from './runner';

describe('dispatches of a step', { skip }, () => {
  let counter: Awaited<ReturnType<typeof loadCounter>>;
  before(async () => {
    counter = await loadCounter();
  });
  const dispatches = (...step: Parameters<typeof counter.countStep>) =>
    counter.countStep(...step).dispatches;

  test('a dense layer takes five for a token, and one more when the keys are split', () => {
    const program = programOf(QWEN3_06B);
    assert.equal(dispatches(program, 1, 1000), 28 * 5 + 4);
    assert.equal(dispatches(program, 1, 8000), 28 * 6 + 4);
  });

  test('a layer of experts takes six, and one more when the keys are split', () => {
    const program = programOf(QWEN3_30B_A3B);
    assert.equal(dispatches(program, 1, 1000), 48 * 6 + 4);
    assert.equal(dispatches(program, 1, 8000), 48 * 7 + 4);
  });

  test('keys and values of 8 bits take as many dispatches, and the memory that is planned for', () => {
    const program = programOf(QWEN3_06B);
    for (const [rows, position] of [
      [1, 1000],
      [1, 8000],
      [512, 0],
    ] as const) {
      assert.equal(dispatches(program, rows, position, 8), dispatches(program, rows, position));
    }
    // Of 16 heads' keys and values of 128 columns, with four scales each.
    const { cacheBytes } = counter.countStep(program, 1, 999, 8);
    assert.equal(cacheBytes, 1000 * 28 * 2 * 8 * (128 + 4 * 4));
  });

  test('a prompt of 512 tokens takes no more than eleven a layer', () => {
    assert.ok(dispatches(programOf(QWEN3_06B), 512, 0) <= 28 * 11 + 4);
  });

  test('a token reads the weights once, of experts only those that are chosen', () => {
    const { weightBytes, cacheBytes } = counter.countStep(programOf(QWEN3_06B), 1, 999);
    // 4.5 bits of 596 million weights, but one row of the embedding; 112 KiB a cached token.
    assert.ok(Math.abs(weightBytes / 1e6 - 335) < 1, `${weightBytes}`);
    assert.equal(cacheBytes, 1000 * 112 * 1024);
    const experts = counter.countStep(programOf(QWEN3_30B_A3B), 1, 999).weightBytes;
    assert.ok(Math.abs(experts / 1e9 - 1.71) < 0.02, `${experts}`);
  });
});
