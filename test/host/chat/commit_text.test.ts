import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanMessage, cutDiff } from '../../../extension/host/chat/commit_text';

test('a message comes without the fence or quotes that models put around it', () => {
  for (const [written, message] of [
    ['Add a test', 'Add a test'],
    ['\n"Add a test"\n', 'Add a test'],
    ['```\nAdd a test\n\nWhy.\n```', 'Add a test\n\nWhy.'],
    ['```text\nAdd', 'Add'],
    ['Say "no" to "this"', 'Say "no" to "this"'],
  ] as const) {
    assert.equal(cleanMessage(written), message);
  }
});

test('a long diff ends at a line, and says how much is missing', () => {
  assert.equal(cutDiff('short'), 'short');
  const cut = cutDiff('+ a line of the diff\n'.repeat(1000));
  assert(cut.length < 12_100);
  assert.match(cut, /\+ a line of the diff\n\[\d+ more characters are left out\]$/);
});

test('a long change of one file takes no room from those of others', () => {
  const change = (path: string, lines: number) =>
    `diff --git a/${path} b/${path}\n${'+ a line of the diff\n'.repeat(lines)}`;
  const first = change('package-lock.json', 2000);
  const cut = cutDiff(first + change('src/a.ts', 20) + change('src/b.ts', 100));
  assert(cut.length > 11_500 && cut.length < 12_200);
  assert(cut.startsWith('diff --git a/package-lock.json'));
  assert(cut.endsWith((change('src/a.ts', 20) + change('src/b.ts', 100)).trimEnd()));
  assert.match(cut, /\n\[\d+ more characters are left out\]\ndiff --git a\/src\/a\.ts/);
});

test('of more files than fit, as many as fit are named', () => {
  const files = Array.from({ length: 2000 }, (_, i) => `diff --git a/${i} b/${i}\n+ x\n`);
  const cut = cutDiff(files.join(''));
  assert(cut.length < 12_500, String(cut.length));
  assert.match(cut, /^diff --git a\/0 b\/0\n\+ x\ndiff[^]*\n\[\d+ more files are left out\]$/);
});
