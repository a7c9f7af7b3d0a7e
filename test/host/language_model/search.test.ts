import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchingLines } from '../../../extension/host/language_model/search';

test('lines with the words, whatever their capitals, up to the limit', () => {
  const text = 'const Total = 1;\nfoo\n  total += 2;\nTOTAL';
  assert.deepEqual(matchingLines(text, 'total', 2), [
    { line: 1, text: 'const Total = 1;' },
    { line: 3, text: 'total += 2;' },
  ]);
  assert.deepEqual(matchingLines(text, 'bar', 2), []);
});

test('of an endless line what stands around the words', () => {
  const [match] = matchingLines(`${'a'.repeat(5000)}needle${'b'.repeat(5000)}`, 'needle', 1);
  assert.match(match?.text ?? '', /^a{100}needleb{94}$/);
});
