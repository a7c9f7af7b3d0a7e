import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSizes, sourceLineCounts } from '../../scripts/check/file-sizes.mjs';

test('each language has its limit, and the largest allowed file passes', () => {
  const counts = new Map([
    ['extension/a.ts', 400],
    ['extension/b.ts', 80],
    ['extension/c.ts', 10],
    ['native/a.cpp', 450],
    ['native/b.cpp', 10],
    ['native/c.h', 10],
    ['metal/a.metal', 350],
  ]);
  assert.deepEqual(checkSizes(counts), []);
  for (const [file, lines] of [
    ['extension/a.ts', 401],
    ['native/a.cpp', 451],
    ['metal/a.metal', 351],
  ] as const) {
    assert.match(checkSizes(new Map(counts).set(file, lines)).join('\n'), new RegExp(file));
  }
});

test('a tree of middling files is over the aim for the median', () => {
  const counts = new Map(['a', 'b', 'c'].map((name) => [`extension/${name}.ts`, 200]));
  assert.match(checkSizes(counts).join('\n'), /have over 200 lines/);
});

test('the files of the project are within their limits', () => {
  assert.deepEqual(checkSizes(sourceLineCounts()), []);
});
