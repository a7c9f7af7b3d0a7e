import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cellsAbove, textAround } from '../../../extension/host/completion/snapshot';
import { MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS } from '../../../extension/protocol/completion';
import { snapshotAt } from './documents';

const view = (lines: readonly string[]) => ({
  lineCount: lines.length,
  line: (index: number) => lines[index] ?? '',
});

describe('snapshot', () => {
  it('is the text on both sides of the cursor', () => {
    const { prefix, suffix, prefixLine, cursor } = snapshotAt('a\nb▮c\nd\n');
    assert.deepEqual(
      { prefix, suffix, prefixLine, cursor },
      { prefix: 'a\nb', suffix: 'c\nd\n', prefixLine: 0, cursor: { line: 1, character: 1 } },
    );
  });

  it('keeps CRLF', () => {
    const { prefix, suffix, eol } = snapshotAt('a\r\nb▮\r\nc');
    assert.deepEqual([prefix, suffix, eol], ['a\r\nb', '\r\nc', '\r\n']);
  });

  it('of an empty document is empty', () => {
    const { prefix, suffix } = snapshotAt('▮');
    assert.deepEqual([prefix, suffix], ['', '']);
  });

  it('reads as if the selected item of the suggest widget were accepted', () => {
    const around = textAround(
      view(['obj = json.lo)']),
      { line: 0, character: 13 },
      { start: 11, end: 13, text: 'loads' },
      '\n',
    );
    assert.deepEqual(around, { prefix: 'obj = json.loads', prefixLine: 0, suffix: ')' });
  });

  it('of a huge document stays within the limits, whole lines, from the same line while one types', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(i % 50)}`);
    const first = textAround(view(lines), { line: 15_000, character: 4 }, null, '\n');
    assert(first.prefix.length <= MAX_PREFIX_CHARS && first.suffix.length <= MAX_SUFFIX_CHARS);
    assert(first.prefix.startsWith(`line ${first.prefixLine} `));
    const typed = [...lines];
    typed[15_000] = `line and twenty more characters${lines[15_000]?.slice(4)}`;
    const second = textAround(view(typed), { line: 15_000, character: 31 }, null, '\n');
    assert.equal(second.prefixLine, first.prefixLine);
    assert(second.prefix.startsWith(first.prefix));
  });

  it('of one endless line stays within the limits', () => {
    const { prefix, suffix } = textAround(
      view(['x'.repeat(10_000_000)]),
      { line: 0, character: 5_000_000 },
      null,
      '\n',
    );
    assert(prefix.length > 1000 && prefix.length <= MAX_PREFIX_CHARS);
    assert(suffix.length > 1000 && suffix.length <= MAX_SUFFIX_CHARS);
  });
});

describe('a line above that is too long', () => {
  const image = `const icon = '${'A'.repeat(5_000_000)}';`;

  it('is left out, so that the request stays within the limits', () => {
    const { prefix } = textAround(view([image, '']), { line: 1, character: 0 }, null, '\n');
    assert.equal(prefix, '');
  });

  it('takes no line below it away', () => {
    const lines = ['// head', image, ...Array.from({ length: 40 }, (_, i) => `line ${i}`)];
    const { prefix, prefixLine } = textAround(view(lines), { line: 41, character: 4 }, null, '\n');
    assert.equal(prefixLine, 2);
    assert(prefix.startsWith('line 0\nline 1\n') && prefix.endsWith('line 38\nline'), prefix);
  });
});

describe('cells of a notebook', () => {
  it('stand above in order', () => {
    assert.equal(cellsAbove(['a = 1\n', 'b = 2'], '\n'), 'a = 1\n\nb = 2\n\n');
  });

  it('are left out from the first on when they are too long', () => {
    const text = cellsAbove(['old'.repeat(20_000), 'new = 1'], '\n');
    assert.equal(text, 'new = 1\n\n');
  });
});
