import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ParsedCall } from '../../../../extension/engine/generation/tools/call_parser';
import { HermesParser } from '../../../../extension/engine/generation/tools/hermes';

function parse(text: string, size: number): { text: string; calls: ParsedCall[] } {
  const parser = new HermesParser();
  const parts = [];
  for (let at = 0; at < text.length; at += size)
    parts.push(...parser.push(text.slice(at, at + size)));
  parts.push(...parser.flush());
  return {
    text: parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''),
    calls: parts.flatMap((part) => (part.kind === 'call' ? [part.call] : [])),
  };
}

const LIST = { name: 'list_dir', arguments: '{"path":"/tmp"}' };
const body = '{"name": "list_dir", "arguments": {"path": "/tmp"}}';

const table: readonly { name: string; text: string; said: string; calls: ParsedCall[] }[] = [
  { name: 'no call', text: 'Hello <b>there</b>.', said: 'Hello <b>there</b>.', calls: [] },
  {
    name: 'a call after text',
    text: `Let me look.\n<tool_call>\n${body}\n</tool_call>`,
    said: 'Let me look.\n',
    calls: [LIST],
  },
  {
    name: 'two calls with blanks between',
    text: `<tool_call>${body}</tool_call>\n\n<tool_call>${body}</tool_call>\n`,
    said: '',
    calls: [LIST, LIST],
  },
  { name: 'a call without its closing tag', text: `<tool_call>\n${body}`, said: '', calls: [LIST] },
  {
    name: 'broken JSON stays text',
    text: '<tool_call>{"name": "x", </tool_call> sorry',
    said: '<tool_call>{"name": "x", </tool_call> sorry',
    calls: [],
  },
  {
    name: 'arguments as parameters, and as text',
    text: '<tool_call>{"name":"a","parameters":{"x":1}}</tool_call><tool_call>{"name":"b","arguments":"{\\"y\\":2}"}</tool_call>',
    said: '',
    calls: [
      { name: 'a', arguments: '{"x":1}' },
      { name: 'b', arguments: '{"y":2}' },
    ],
  },
  {
    name: 'arguments that are no object',
    text: '<tool_call>{"name":"a","arguments":[1]}</tool_call>',
    said: '<tool_call>{"name":"a","arguments":[1]}</tool_call>',
    calls: [],
  },
  {
    name: 'no arguments',
    text: '<tool_call>{"name":"a"}</tool_call>',
    said: '',
    calls: [{ name: 'a', arguments: '{}' }],
  },
  {
    name: 'text after a call, with its blanks',
    text: `<tool_call>${body}</tool_call>\n\nIt is  done.\n\n`,
    said: '\n\nIt is  done.\n\n',
    calls: [LIST],
  },
  {
    name: 'what only looks like a call after one',
    text: `<tool_call>${body}</tool_call>\n<tool_call>{}</tool_call> \n x`,
    said: '\n<tool_call>{}</tool_call> \n x',
    calls: [LIST],
  },
  { name: 'half an opening tag at the end', text: 'a <tool_', said: 'a <tool_', calls: [] },
];

describe('tool calls as Hermes writes them', () => {
  for (const { name, text, said, calls } of table) {
    for (const size of [1, 7, 1000]) {
      it(`${name}, ${size} characters at a time`, () => {
        assert.deepEqual(parse(text, size), { text: said, calls });
      });
    }
  }
});
