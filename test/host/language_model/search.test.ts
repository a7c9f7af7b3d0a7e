import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPathOf, matchingLines } from '../../../extension/host/language_model/search';

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

test('a file by its path in the workspace, the end of it, or the whole one', () => {
  const isMeant = (written: string) => isPathOf('/w/src/a.ts', 'src/a.ts', written);
  for (const path of ['src/a.ts', './src/a.ts', 'src\\a.ts', 'a.ts', '/w/src/a.ts'])
    assert(isMeant(path), path);
  for (const path of ['b.ts', 'rc/a.ts', 'src', '/src/a.ts/']) assert(!isMeant(path), path);
  assert(isPathOf('/c:/w/a.ts', 'a.ts', 'c:\\w\\a.ts'));
});
