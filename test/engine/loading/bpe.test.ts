import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeSymbols } from '../../../extension/engine/loading/bpe';
import { MergeTable } from '../../../extension/engine/loading/merge_table';

/** Merges of pairs into new ids, in order of rank. */
type Merge = readonly [left: number, right: number, result: number];

function tableOf(merges: readonly Merge[]): MergeTable {
  const table = new MergeTable(merges.length);
  merges.forEach(([left, right, result], rank) => table.set(left, right, rank, result));
  return table;
}

/** The definition: look for the lowest rank, leftmost first, until there is none. */
function mergeSlowly(symbols: readonly number[], merges: readonly Merge[]): number[] {
  const ids = [...symbols];
  for (;;) {
    const found = merges
      .map(([left, right, result]) => ({
        at: ids.findIndex((id, i) => id === left && ids[i + 1] === right),
        result,
      }))
      .find(({ at }) => at !== -1);
    if (found === undefined) return ids;
    ids.splice(found.at, 2, found.result);
  }
}

test('equals the definition on random words and vocabularies', () => {
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  for (let round = 0; round < 300; round++) {
    const merges: Merge[] = [];
    for (let id = 4; id < 16; id++) {
      const pair: Merge = [random(id), random(id), id];
      if (!merges.some(([l, r]) => l === pair[0] && r === pair[1])) merges.push(pair);
    }
    const word = Array.from({ length: random(24) }, () => random(4));
    assert.deepEqual([...mergeSymbols(word, tableOf(merges))], mergeSlowly(word, merges));
  }
});

test('a run of one symbol pairs up from the left', () => {
  const table = tableOf([
    [0, 0, 1],
    [1, 1, 2],
  ]);
  assert.deepEqual([...mergeSymbols([0, 0, 0, 0, 0, 0, 0], table)], [2, 1, 0]);
});
