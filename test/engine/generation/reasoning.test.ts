import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReasoningSplitter } from '../../../extension/engine/generation/reasoning';

/** Thoughts and text of an answer that comes in pieces of `size` characters. */
function split(text: string, size: number, inside = false): [string, string] {
  const splitter = new ReasoningSplitter(inside);
  const said = { reasoning: '', text: '' };
  const parts = [];
  for (let at = 0; at < text.length; at += size)
    parts.push(...splitter.push(text.slice(at, at + size)));
  for (const part of [...parts, ...splitter.flush()]) said[part.kind] += part.text;
  return [said.reasoning, said.text];
}

const table: readonly { name: string; text: string; inside?: boolean; want: [string, string] }[] = [
  { name: 'an answer without thoughts', text: 'Hello.', want: ['', 'Hello.'] },
  {
    name: 'thoughts, then the answer without its blank lines',
    text: '<think>\nHm, 2 < 3.\n</think>\n\nYes.\n',
    want: ['Hm, 2 < 3.\n', 'Yes.\n'],
  },
  { name: 'empty thoughts', text: '<think>\n\n</think>\n\nYes.', want: ['', 'Yes.'] },
  {
    name: 'a prompt that opened the thoughts',
    text: 'Hm.</think>Yes.',
    inside: true,
    want: ['Hm.', 'Yes.'],
  },
  { name: 'thoughts that the token limit cut', text: '<think>Hm', want: ['Hm', ''] },
  { name: 'half a closing tag at the end', text: '<think>Hm</thi', want: ['Hm</thi', ''] },
  {
    name: 'an answer that writes about the tag',
    text: 'Models write <think>…</think> first.',
    want: ['', 'Models write <think>…</think> first.'],
  },
  { name: 'an answer that begins like the tag', text: '<thing/>', want: ['', '<thing/>'] },
  { name: 'an answer of one angle bracket', text: '<', want: ['', '<'] },
];

describe('reasoning', () => {
  for (const { name, text, inside, want } of table) {
    for (const size of [1, 3, 1000]) {
      it(`${name}, ${size} characters at a time`, () => {
        assert.deepEqual(split(text, size, inside), want);
      });
    }
  }
});
