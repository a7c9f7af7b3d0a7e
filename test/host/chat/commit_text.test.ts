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
