import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrefixTree } from '../../../extension/engine/cache/prefix';

test('a block is found by its tokens and by all that comes before them', () => {
  const tree = new PrefixTree(2);
  const a = tree.insert(tree.root, [1, 2], 0);
  assert.ok(a);
  const ab = tree.insert(a, [3, 4], 1);
  assert.equal(tree.find(tree.root, [1, 2]), a);
  assert.equal(tree.find(a, [3, 4]), ab);
  assert.equal(tree.find(tree.root, [3, 4]), null);
  assert.equal(tree.find(a, [3, 5]), null);
});

test('the same block after different texts is two blocks, even when their hashes collide', () => {
  // The hash sees only the new tokens.
  const tree = new PrefixTree(2, (_, [token = 0]) => token);
  const a = tree.insert(tree.root, [1, 1], 0);
  const b = tree.insert(tree.root, [2, 2], 1);
  assert.ok(a && b);
  assert.ok(tree.insert(a, [3, 3], 2));
  assert.equal(tree.find(b, [3, 3]), null);
  assert.equal(tree.insert(b, [3, 3], 3), null);
});

test('the closest child shares the most tokens; one that ends there goes before its equals', () => {
  const tree = new PrefixTree(4);
  tree.insert(tree.root, [1, 2, 3, 4], 0);
  const partial = tree.insert(tree.root, [1, 2], 1);
  assert.equal(tree.closest(tree.root, [1, 2, 9])?.node, partial);
  assert.deepEqual(tree.closest(tree.root, [1, 2, 3, 9])?.shared, 3);
  assert.equal(tree.closest(tree.root, [7]), null);
  assert.equal(tree.closest(tree.root, []), null);
});

test('the hash tells long runs of similar blocks apart', () => {
  const tree = new PrefixTree(16);
  const seen = new Set<number>();
  for (let i = 0; i < 20_000; i++) {
    const node = tree.insert(
      tree.root,
      Array.from({ length: 16 }, (_, j) => (j === i % 16 ? i : 0)),
      i,
    );
    if (node !== null) seen.add(node.hash);
  }
  assert.ok(seen.size > 19_990, `${seen.size} hashes of 20000 blocks`);
});
