import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  prefixWindow,
  suffixWindow,
  TokenCounter,
} from '../../../extension/engine/completion/window';

/** A tokenizer with one token a character. */
const counter = new TokenCounter((text) => [...text].length);
const lines = (count: number, first = 0): string =>
  Array.from({ length: count }, (_, i) => `line ${String(first + i).padStart(4, '0')}\n`).join('');

describe('prefix window', () => {
  it('is all of a short text', () => {
    assert.equal(prefixWindow(lines(5), 0, 1000, counter), lines(5));
    assert.equal(prefixWindow('', 0, 10, counter), '');
  });

  it('begins at a multiple of sixteen document lines and fits', () => {
    const window = prefixWindow(lines(100), 0, 500, counter);
    assert(window.startsWith('line 0064\n'));
    assert(window.length <= 500);
    assert(lines(100).endsWith(window));
  });

  it('begins at the same line when the host cut the document higher or lower', () => {
    const all = prefixWindow(lines(100), 0, 500, counter);
    assert.equal(prefixWindow(lines(90, 10), 10, 500, counter), all);
  });

  it('only grows while one types, until the next step of lines', () => {
    let text = lines(100);
    let window = prefixWindow(text, 0, 500, counter);
    let moves = 0;
    for (const char of lines(32, 100)) {
      text += char;
      const next = prefixWindow(text, 0, 500, counter);
      if (!next.startsWith(window)) moves++;
      window = next;
    }
    assert.equal(moves, 2);
  });

  it('takes what fits where a step of lines is longer than the budget', () => {
    assert.equal(prefixWindow(lines(95), 0, 50, counter), lines(5, 90));
  });

  it('begins just below a line of data that does not fit, whatever the step', () => {
    const text = `${'x'.repeat(900)}\n${lines(20)}`;
    assert.equal(prefixWindow(text, 0, 500, counter), lines(20));
  });

  it('cuts a line that is longer than the budget, and not at every character anew', () => {
    const line = 'x'.repeat(5000);
    const window = prefixWindow(line, 0, 600, counter);
    assert(window.length > 300 && window.length <= 600);
    assert.equal(prefixWindow(`${line}y`, 0, 600, counter), `${window}y`);
  });
});

describe('suffix window', () => {
  it('is whole lines that fit', () => {
    assert.equal(suffixWindow(`rest\n${lines(50)}`, 30, counter), 'rest\nline 0000\nline 0001\n');
  });

  it('is the beginning of a first line that is too long', () => {
    const window = suffixWindow('x'.repeat(1000), 300, counter);
    assert(window.length > 100 && window.length <= 300);
  });

  it('of nothing is nothing', () => assert.equal(suffixWindow('', 10, counter), ''));
});
