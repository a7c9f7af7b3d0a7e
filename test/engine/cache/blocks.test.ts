import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockPool } from '../../../extension/engine/cache/blocks';

test('a block is free again when its last holder has released it and it is given back', () => {
  const pool = new BlockPool(2);
  const block = pool.allocate();
  assert.ok(block !== null);
  pool.retain(block);
  assert.equal(pool.release(block), false);
  assert.equal(pool.release(block), true);
  assert.equal(pool.numFree, 1);
  pool.giveBack(block);
  assert.equal(pool.numFree, 2);
});

test('an empty pool says so, and a block is never released twice', () => {
  const pool = new BlockPool(1);
  assert.equal(pool.allocate(), 0);
  assert.equal(pool.allocate(), null);
  pool.release(0);
  assert.throws(() => pool.release(0), /block 0 is released but not held/);
});
