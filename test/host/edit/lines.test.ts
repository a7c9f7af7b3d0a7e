import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hunks, unfinished } from '../../../extension/host/edit/lines';

const lines = (text: string): string[] => (text === '' ? [] : text.split(''));

/** Every text of up to four of three letters: small enough to try all pairs. */
const TEXTS = ['', ...words(1), ...words(2), ...words(3), ...words(4)];
function words(length: number): string[] {
  return length === 0
    ? ['']
    : words(length - 1).flatMap((word) => ['a', 'b', 'c'].map((letter) => word + letter));
}

describe('hunks of two texts', () => {
  it('turn the one into the other, and leave what they share', () => {
    for (const old of TEXTS) {
      for (const next of TEXTS) {
        const [a, b] = [lines(old), lines(next)];
        let made = '';
        let at = 0;
        for (const { start, end, newStart, newEnd } of hunks(a, b)) {
          assert.ok(end > start || newEnd > newStart, `${old} ${next}: an empty hunk`);
          made += old.slice(at, start) + next.slice(newStart, newEnd);
          at = end;
        }
        assert.equal(made + old.slice(at), next, `${old} to ${next}`);
      }
    }
  });

  it('are as small as can be', () => {
    assert.deepEqual(hunks(lines('abcde'), lines('abXde')), [
      { start: 2, end: 3, newStart: 2, newEnd: 3 },
    ]);
    assert.deepEqual(hunks(lines('abcd'), lines('bcde')), [
      { start: 0, end: 1, newStart: 0, newEnd: 0 },
      { start: 4, end: 4, newStart: 3, newEnd: 4 },
    ]);
  });

  it('of thousands of lines without a common one are one', () => {
    const [a, b] = [1, 2].map((seed) => Array.from({ length: 3000 }, (_, at) => `${seed} ${at}`));
    assert.equal(hunks(a ?? [], b ?? []).length, 1);
  });
});

describe('a version that is being written', () => {
  it('begins with its lines and ends with the end of the old one', () => {
    for (const old of TEXTS) {
      for (const next of TEXTS) {
        const shown = unfinished(lines(old), lines(next)).join('');
        assert.ok(shown.startsWith(next), `${old} ${next}: ${shown}`);
        assert.ok(old.endsWith(shown.slice(next.length)), `${old} ${next}: ${shown}`);
      }
    }
  });

  it('does not show lines as deleted that it has not come to', () => {
    assert.equal(unfinished(lines('abcde'), lines('aX')).join(''), 'aXcde');
    assert.equal(unfinished(lines('abcde'), lines('abX')).join(''), 'abXde');
    assert.equal(unfinished(lines('abcde'), lines('abXc')).join(''), 'abXcde');
  });
});
