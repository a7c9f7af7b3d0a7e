import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visible } from '../../extension/protocol/visible';

test('what a terminal would obey is written out', () => {
  const link = '\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x07';
  assert.equal(visible(link), String.raw`\x1b]8;;https://evil.example\x1b\here\x1b]8;;\x07`);
  assert.equal(visible('\x9b31mred'), String.raw`\x9b31mred`);
  assert.equal(visible('safe\rEVIL'), String.raw`safe\x0dEVIL`);
  assert.equal(visible('a\u202eb\u2066c'), String.raw`a\u202eb\u2066c`);
});

test('text stays as it is, in every language', () => {
  for (const text of ['a\tb\nc\r\nd', 'ünï © 漢字 🦘', 'שלום', ''])
    assert.equal(visible(text), text);
});
