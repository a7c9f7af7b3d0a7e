import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shifted } from '../../../extension/host/edit/tracked';

const span = { start: 10, end: 20 };
const change = (rangeOffset: number, rangeLength: number, text: string) => ({
  rangeOffset,
  rangeLength,
  text,
});

describe('a part of a document', () => {
  for (const [what, at, expected] of [
    ['text typed before it', change(3, 0, 'abc'), { start: 13, end: 23 }],
    ['text deleted before it', change(3, 2, ''), { start: 8, end: 18 }],
    ['a line put right before it', change(10, 0, 'new\n'), { start: 14, end: 24 }],
    ['text typed after it', change(25, 0, 'abc'), span],
    ['a line put right after it', change(20, 0, 'abc'), span],
    ['text in it', change(12, 1, 'abc'), { start: 10, end: 22 }],
    ['a deletion over its start', change(8, 4, ''), null],
    ['a deletion over its end', change(18, 4, ''), null],
    ['a whole new document', change(0, 30, 'x'), null],
  ] as const) {
    it(`knows its place after ${what}`, () => assert.deepEqual(shifted(span, at, false), expected));
  }

  it('takes what is put at its ends when it is asked to', () => {
    assert.deepEqual(shifted(span, change(10, 0, 'ab'), true), { start: 10, end: 22 });
    assert.deepEqual(shifted(span, change(20, 0, 'ab'), true), { start: 10, end: 22 });
    assert.deepEqual(shifted(span, change(21, 0, 'ab'), true), span);
  });
});
