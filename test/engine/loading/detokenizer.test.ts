import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Detokenizer } from '../../../extension/engine/loading/detokenizer';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { SPROUT } from './model_fixture';

const tokenizer = loadTokenizer(SPROUT);

test('every code point streams token by token without a broken character', () => {
  const detokenizer = new Detokenizer(tokenizer);
  const wrong: string[] = [];
  for (let code = 0x80; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const text = String.fromCodePoint(code).normalize('NFC'); // the tokenizer normalizes, so compare with that
    const deltas = tokenizer.encode(text).map((id) => detokenizer.push(id));
    const streamed = deltas.join('') + detokenizer.flush();
    const isBroken = code !== 0xfffd && deltas.some((delta) => delta.includes('\ufffd'));
    if (streamed !== text || isBroken) wrong.push(code.toString(16));
  }
  assert.deepEqual(wrong, []);
});

test('an unfinished character is held back, and shown as U+FFFD only at the end', () => {
  const detokenizer = new Detokenizer(tokenizer);
  assert.equal(detokenizer.pushBytes(Uint8Array.of(0x61, 0xf0, 0x9f)), 'a');
  assert.equal(detokenizer.pushBytes(Uint8Array.of(0x98, 0x80)), '😀');
  assert.equal(detokenizer.pushBytes(Uint8Array.of(0xe6, 0xbc)), '');
  assert.equal(detokenizer.flush(), '\ufffd');
  assert.equal(detokenizer.pushBytes(Uint8Array.of(0x62)), 'b');
});

test('a byte order mark is text', () => {
  const detokenizer = new Detokenizer(tokenizer);
  assert.equal(detokenizer.pushBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), '\ufeffa');
});
