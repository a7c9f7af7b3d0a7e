import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loopingLines, loopInLine } from '../../../extension/engine/completion/repetition';

describe('loops', () => {
  const cases: readonly [name: string, above: string[], lines: string[], drop: number][] = [
    ['twice is no loop', [], ['foo();', 'foo();'], 0],
    ['three times, one stays', [], ['foo();', 'foo();', 'foo();'], 2],
    ['the first time stands above', ['foo();'], ['foo();', 'foo();'], 2],
    ['two lines in turn', [], ['aa();', 'bb();', 'aa();', 'bb();', 'aa();', 'bb();'], 4],
    [
      'two lines that say something, twice',
      [],
      ['foo("first");', 'bar();', 'foo("first");', 'bar();'],
      2,
    ],
    [
      'once above and once here is no loop',
      ['foo("first");', 'bar();'],
      ['foo("first");', 'bar();'],
      0,
    ],
    ['short lines twice, as of a table', [], ['<td>', '</td>', '<td>', '</td>'], 0],
    ['not at the end', [], ['foo();', 'foo();', 'foo();', 'bar();'], 0],
    ['closing brackets', [], ['}', '}', '}'], 0],
    ['blank lines', [], ['', '', ''], 0],
  ];
  for (const [name, above, lines, drop] of cases) {
    it(name, () => assert.equal(loopingLines(lines, above), drop));
  }

  it('inside a line is cut after its first turn', () => {
    const line = `return ${'foo, '.repeat(20)}`;
    assert.equal(line.slice(0, loopInLine(line)), 'return foo,');
  });

  it('inside a line takes more than a few turns', () => {
    assert.equal(loopInLine('[0, 0, 0, 0, 0, 0, 0, 0]'), -1);
    assert.equal(loopInLine('-'.repeat(80)), -1);
    assert.equal(loopInLine('abcabcabcabc'), -1);
  });
});
