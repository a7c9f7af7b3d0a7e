import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PagedCache } from '../../../extension/engine/cache/paged';
import type { BlockTable } from '../../../extension/engine/cache/block_table';

const range = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

/** Computes a text as the scheduler does, in one step. */
function compute(cache: PagedCache, tokens: readonly number[]): BlockTable {
  const table = cache.acquire(tokens);
  assert.ok(cache.reserve(table, tokens.length), 'the pool is full');
  cache.commit(table, tokens, tokens.length);
  return table;
}

function run(cache: PagedCache, tokens: readonly number[]): void {
  cache.release(compute(cache, tokens), tokens);
}

function newCache(
  numBlocks: number,
  extra: Partial<ConstructorParameters<typeof PagedCache>[0]> = {},
) {
  return new PagedCache({ numBlocks, blockSize: 4, contextLength: 64, ...extra });
}

describe('paged cache', () => {
  test('a text pays only for what differs, in whole blocks where nothing can be copied', () => {
    const cache = newCache(16);
    run(cache, range(14));
    assert.equal(cache.acquire([...range(10), 99, 98]).length, 8);
  });

  test('a block that two texts share in part is copied, and its source stays as it was', () => {
    const copies: number[][] = [];
    const cache = newCache(16, { copyBlocks: (pairs) => copies.push([...pairs]) });
    const first = compute(cache, range(14));
    const other = cache.acquire([...range(10), 99, 98]);
    assert.equal(other.length, 10);
    assert.deepEqual(copies, [[first.blocks[2], other.blocks[2]]]);
    assert.deepEqual(other.blocks.slice(0, 2), first.blocks.slice(0, 2));
    cache.checkIntegrity([first, other]);
  });

  test('who goes on where a text ended takes over its last block, without a copy', () => {
    const cache = newCache(16);
    run(cache, range(14));
    const table = cache.acquire(range(20));
    assert.equal(table.length, 14);
    cache.checkIntegrity([table]);
  });

  test('the last token of a text is always computed', () => {
    const cache = newCache(16);
    run(cache, range(13));
    assert.equal(cache.acquire(range(13)).length, 12);
    assert.equal(cache.acquire(range(12)).length, 8);
    assert.equal(newCache(4).acquire([1]).length, 0);
  });

  test('equal blocks that two sequences compute at once become one', () => {
    const cache = newCache(16);
    const a = cache.acquire(range(9));
    const b = cache.acquire(range(9));
    for (const table of [a, b]) assert.ok(cache.reserve(table, 9));
    for (const table of [a, b]) cache.commit(table, range(9), 9);
    assert.deepEqual(a.blocks.slice(0, 2), b.blocks.slice(0, 2));
    assert.notEqual(a.blocks[2], b.blocks[2]);
    assert.equal(cache.numFree, 16 - 4);
    cache.checkIntegrity([a, b]);
  });

  test('a sequence goes on with what another has computed since it began', () => {
    const cache = newCache(16);
    const slow = cache.acquire(range(20));
    assert.ok(cache.reserve(slow, 6));
    cache.commit(slow, range(20), 6);
    const fast = compute(cache, range(16));
    cache.catchUp(slow, range(20));
    assert.equal(slow.length, 16);
    cache.checkIntegrity([slow, fast]);
  });

  test('space comes from the text used least recently, its end first', () => {
    const cache = newCache(6);
    run(cache, range(9)); // 3 blocks
    run(cache, range(9, 100)); // 3 blocks
    cache.release(cache.acquire(range(9)), range(9)); // the first is now the more recent one
    const table = compute(cache, range(12, 200)); // both tails, then the end of the second text
    assert.equal(cache.numEvictions, 3);
    cache.checkIntegrity([table]);
    assert.equal(cache.cost(range(9)), 3);
    assert.equal(cache.acquire(range(9, 100)).length, 4);
    assert.equal(cache.acquire(range(9)).length, 8);
  });

  test('held blocks are never taken', () => {
    const cache = newCache(4);
    const table = compute(cache, range(12));
    const other = cache.acquire(range(12, 100));
    assert.equal(cache.reserve(other, 8), false);
    assert.equal(cache.reserve(other, 4), true);
    cache.checkIntegrity([table, other]);
  });

  test('a copy never takes the place of its source', () => {
    const cache = newCache(2, { copyBlocks: ([from, to]) => assert.notEqual(from, to) });
    run(cache, range(8));
    const table = cache.acquire([0, 1, 9, 9]);
    assert.equal(table.length, 2);
    cache.checkIntegrity([table]);
    const full = newCache(1, { copyBlocks: () => assert.fail('there is no room for a copy') });
    run(full, range(4));
    assert.equal(full.acquire([0, 1, 9]).length, 0);
  });

  test('texts whose hashes collide are told apart', () => {
    const cache = newCache(16, { hash: () => 7 });
    const same = [5, 5, 5, 5];
    run(cache, [1, 1, 1, 1, ...same, 0]);
    assert.equal(cache.acquire([2, 2, 2, 2, ...same, 0]).length, 0);
    const table = compute(cache, [3, 3, 3, 3, ...same, 0]);
    cache.checkIntegrity([table]);
    const nested = newCache(16, { hash: (parent) => (parent === 0 ? 1 : 2) });
    run(nested, [1, 1, 1, 1, ...same, 0]);
    run(nested, [2, 2, 2, 2, 0]);
    assert.equal(nested.acquire([2, 2, 2, 2, ...same, 0]).length, 0);
    assert.equal(nested.acquire([1, 1, 1, 1, ...same, 0]).length, 8);
  });

  test('a wrong book is found', () => {
    const cache = newCache(8);
    const table = compute(cache, range(6));
    assert.throws(
      () => cache.checkIntegrity([]),
      /counts 1 holders, 0 sequences hold it|blocks are free, idle or held/,
    );
    assert.throws(
      () => cache.checkIntegrity([table, table]),
      /counts 1 holders, 2 sequences hold it/,
    );
  });
});
