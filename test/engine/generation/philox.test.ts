import assert from 'node:assert/strict';
import { test } from 'node:test';
import { philox, uniform } from '../../../extension/engine/generation/philox';

// Known answers of Philox4x32-10 from the test vectors that its authors publish (Random123, kat_vectors).
test('philox equals its published answers', () => {
  assert.deepEqual([...philox([0, 0, 0, 0], 0)], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  const ones = 0xffffffff;
  // The seed carries 53 bits, so the all-ones key of the vectors cannot be given; this one is (counter 0, key 1, 0).
  assert.notDeepEqual([...philox([ones, ones, ones, ones], 0)], [...philox([0, 0, 0, 0], 0)]);
});

test('uniform numbers depend on seed and index alone and are even', () => {
  assert.equal(uniform(7, 3), uniform(7, 3));
  assert.notEqual(uniform(7, 3), uniform(8, 3));
  const draws = Array.from({ length: 4000 }, (_, n) => uniform(42, n));
  assert.ok(draws.every((x) => x >= 0 && x < 1));
  const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
  assert.ok(Math.abs(mean - 0.5) < 0.02, `mean ${mean}`);
});
