import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  answerFormat,
  answerParser,
  type AnswerFormat,
} from '../../../extension/engine/generation/answer_parser';
import type { AnswerPart } from '../../../extension/engine/generation/answer_part';
import type { ToolSchema } from '../../../extension/engine/generation/tools/call_parser';

/** Control tokens that a model of each format has. */
const CONTROLS: Readonly<Record<AnswerFormat, readonly string[]>> = {
  hermes: ['<|im_start|>', '<|im_end|>'],
  mistral: ['[TOOL_CALLS]', '[INST]'],
  llama: ['<|python_tag|>', '<|eot_id|>'],
  granite: ['<|tool_call|>', '<|end_of_text|>'],
  harmony: ['<|channel|>', '<|message|>', '<|start|>'],
};
const tokenizerOf = (format: AnswerFormat) => ({
  specialId: (text: string) => (CONTROLS[format].includes(text) ? 1 : null),
});

const TOOLS: readonly ToolSchema[] = [
  {
    name: 'write_file',
    parameters: JSON.stringify({
      type: 'object',
      properties: {
        path: { type: 'string' },
        lines: { type: 'integer' },
        force: { type: 'boolean' },
        tags: { type: 'array' },
      },
    }),
  },
  { name: 'now', parameters: '{}' },
];

interface Case {
  readonly name: string;
  readonly format: AnswerFormat;
  readonly text: string;
  readonly tools?: readonly ToolSchema[];
  readonly isThinking?: boolean;
  readonly reasoning?: string;
  readonly said?: string;
  readonly calls?: readonly (readonly [string, unknown])[];
}

const CASES: readonly Case[] = [
  {
    name: 'JSON in tags, after thoughts',
    format: 'hermes',
    text: '<think>hm</think>Now:\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
    reasoning: 'hm',
    said: 'Now:\n',
    calls: [['now', {}]],
  },
  {
    name: 'Qwen 3 Coder: XML in tags, values by the schema',
    format: 'hermes',
    text:
      'Well.\n<tool_call>\n<function=write_file>\n<parameter=path>\n12\n</parameter>\n<parameter=lines>\n3\n</parameter>\n' +
      '<parameter=force>\nTrue\n</parameter>\n<parameter=tags>\n["a", "<b>"]\n</parameter>\n</function>\n</tool_call>',
    said: 'Well.\n',
    calls: [['write_file', { path: '12', lines: 3, force: true, tags: ['a', '<b>'] }]],
  },
  {
    name: 'Qwen 3 Coder: a value of several lines, and a call cut short',
    format: 'hermes',
    text: '<tool_call>\n<function=write_file>\n<parameter=path>\na\n\n  b <c>\n</parameter>\n<parameter=lines>\n4',
    calls: [['write_file', { path: 'a\n\n  b <c>', lines: 4 }]],
  },
  {
    name: 'Qwen 3 Coder: the tag around a function forgotten, and a function that nobody has',
    format: 'hermes',
    text:
      'See <function=none>.\n<function=now>\n</function>\n</tool_call>\n' +
      '<tool_call>\n<function=write_file>\n<parameter=path>\n<function=now>\n</parameter>\n</function>\n</tool_call>',
    said: 'See <function=none>.\n',
    calls: [
      ['now', {}],
      ['write_file', { path: '<function=now>' }],
    ],
  },
  {
    name: 'Mistral: a list',
    format: 'mistral',
    text: 'Sure.[TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "write_file", "arguments": {"path": "[TOOL"}}]',
    said: 'Sure.',
    calls: [
      ['now', {}],
      ['write_file', { path: '[TOOL' }],
    ],
  },
  {
    name: 'Mistral: names before the arguments',
    format: 'mistral',
    text: '[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]write_file[CALL_ID]a1B2[ARGS]{"path": "x"}',
    calls: [
      ['now', {}],
      ['write_file', { path: 'x' }],
    ],
  },
  {
    name: 'Mistral: an empty list is no call, and no text either',
    format: 'mistral',
    text: 'Done.[TOOL_CALLS][]',
    said: 'Done.',
  },
  {
    name: 'Mistral: what is no call stays text',
    format: 'mistral',
    text: 'a [TOOL_CALLS]b',
    said: 'a [TOOL_CALLS]b',
  },
  {
    name: 'Granite 3: a list',
    format: 'granite',
    text: 'I look.<|tool_call|>[{"name": "now", "arguments": {}}, {"name": "write_file", "arguments": {"path": "x"}}]',
    said: 'I look.',
    calls: [
      ['now', {}],
      ['write_file', { path: 'x' }],
    ],
  },
  {
    name: 'Phi-4-mini: calls between two tokens',
    format: 'granite',
    text: '<|tool_call|>[{"name": "now", "arguments": {}}]<|/tool_call|><|tool_call|>{"name": "now", "arguments": {"a": 1}}<|/tool_call|>',
    calls: [
      ['now', {}],
      ['now', { a: 1 }],
    ],
  },
  {
    name: 'Granite 3: what is no call stays text',
    format: 'granite',
    text: 'a <|tool_call|>b',
    said: 'a <|tool_call|>b',
  },
  {
    name: 'Llama: the whole answer',
    format: 'llama',
    text: '{"name": "write_file", "parameters": {"path": "x; {y}"}}',
    calls: [['write_file', { path: 'x; {y}' }]],
  },
  {
    name: 'Llama: after the tag, several',
    format: 'llama',
    text: '<|python_tag|>{"name": "now", "parameters": {}}; {"name": "now", "parameters": {"a": 1}}',
    calls: [
      ['now', {}],
      ['now', { a: 1 }],
    ],
  },
  {
    name: 'Llama: JSON that names no tool is an answer',
    format: 'llama',
    text: '{"name": "Bob", "parameters": {}}',
    said: '{"name": "Bob", "parameters": {}}',
  },
  {
    name: 'Llama: Python is text',
    format: 'llama',
    text: '<|python_tag|>print(1)',
    said: '<|python_tag|>print(1)',
  },
  {
    name: 'Llama: text',
    format: 'llama',
    text: ' <b>Hello</b> {"a": 1}',
    said: ' <b>Hello</b> {"a": 1}',
  },
  {
    name: 'Harmony: thoughts, then the answer',
    format: 'harmony',
    text: '<|channel|>analysis<|message|>a < b <|x|><|end|><|start|>assistant<|channel|>final<|message|>Hi <there>',
    reasoning: 'a < b <|x|>',
    said: 'Hi <there>',
  },
  {
    name: 'Harmony: a call after thoughts and a word to the user',
    format: 'harmony',
    text:
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>' +
      '<|start|>assistant<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{"path": "<|p|>"}<|call|>',
    reasoning: 'hm',
    said: 'One moment.',
    calls: [['write_file', { path: '<|p|>' }]],
  },
  { name: 'Harmony: text without any message', format: 'harmony', text: 'plain', said: 'plain' },
  {
    name: 'without tools nothing is a call',
    format: 'mistral',
    tools: [],
    text: '[TOOL_CALLS][{"name": "now"}]',
    said: '[TOOL_CALLS][{"name": "now"}]',
  },
  {
    name: 'a prompt that ends in thoughts',
    format: 'llama',
    isThinking: true,
    text: 'hm</think>\n\nHi',
    reasoning: 'hm',
    said: 'Hi',
  },
];

function parse({ format, text, tools = TOOLS, isThinking = false }: Case, size: number) {
  const parser = answerParser(tokenizerOf(format), { isThinking, tools });
  const parts: AnswerPart[] = [];
  for (let at = 0; at < text.length; at += size)
    parts.push(...parser.push(text.slice(at, at + size)));
  parts.push(...parser.flush());
  const textOf = (kind: 'reasoning' | 'text') =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('');
  return {
    reasoning: textOf('reasoning'),
    said: textOf('text'),
    calls: parts.flatMap((part) =>
      part.kind === 'call' ? [[part.call.name, JSON.parse(part.call.arguments) as unknown]] : [],
    ),
  };
}

describe('answers of each format', () => {
  for (const item of CASES) {
    test(`${item.name}, however it is cut`, () => {
      const { reasoning = '', said = '', calls = [] } = item;
      for (let size = 1; size <= item.text.length; size++) {
        assert.deepEqual(parse(item, size), { reasoning, said, calls }, `pieces of ${size}`);
      }
    });
  }

  test('a model that was made of Llama 3 has its own form; one that was told of Hermes’ has that', () => {
    const smollm3 = ['<|python_tag|>', '<|eom_id|>', '<tool_call>', '</tool_call>'];
    const tokenizer = { specialId: (text: string) => (smollm3.includes(text) ? 1 : null) };
    assert.equal(answerFormat(tokenizer), 'hermes');
    for (const format of ['mistral', 'granite', 'llama'] as const) {
      assert.equal(answerFormat(tokenizerOf(format), false), 'hermes');
    }
    const told = { isThinking: false, tools: TOOLS, knowsTools: false };
    const parser = answerParser(tokenizerOf('llama'), told);
    const text = '<tool_call>{"name": "now", "arguments": {}}</tool_call>';
    assert.deepEqual(parser.push(text), [{ kind: 'call', call: { name: 'now', arguments: '{}' } }]);
  });

  test('a format is known by the control tokens', () => {
    for (const format of ['hermes', 'mistral', 'granite', 'llama', 'harmony'] as const) {
      assert.equal(answerFormat(tokenizerOf(format)), format);
    }
  });
});
