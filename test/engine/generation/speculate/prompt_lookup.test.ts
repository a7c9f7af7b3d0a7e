import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PromptLookup } from '../../../../extension/engine/generation/speculate/prompt_lookup';

const propose = (tokens: number[], most = 3) => new PromptLookup().propose(tokens, most);

test('what followed the last tokens before is proposed again', () => {
  assert.deepEqual(propose([1, 2, 3, 4, 5, 9, 1, 2]), [3, 4, 5]);
  assert.deepEqual(propose([1, 2, 3, 4, 5, 9, 1, 2], 1), [3]);
});

test('a longer match goes before a later one, and the latest of equal length wins', () => {
  assert.deepEqual(propose([1, 2, 3, 4, 70, 0, 3, 4, 80, 0, 1, 2, 3, 4], 1), [70]);
  assert.deepEqual(propose([1, 2, 70, 1, 2, 80, 1, 2], 1), [80]);
});

test('a run goes on as a run', () => {
  assert.deepEqual(propose([7, 7, 7, 7], 2), [7]);
});

test('nothing is proposed where nothing agrees, or nothing is wanted', () => {
  assert.deepEqual(propose([1, 2, 3, 4, 5]), []);
  assert.deepEqual(propose([1]), []);
  assert.deepEqual(propose([]), []);
  assert.deepEqual(propose([1, 2, 1, 2], 0), []);
});

test('a text that grows gives the same as a fresh one', () => {
  const text = Array.from({ length: 400 }, (_, i) => (i * i + (i >> 3)) % 7);
  const growing = new PromptLookup();
  for (let length = 1; length <= text.length; length += 1 + (length % 3)) {
    const tokens = text.slice(0, length);
    assert.deepEqual(growing.propose(tokens, 5), propose(tokens, 5));
  }
});
