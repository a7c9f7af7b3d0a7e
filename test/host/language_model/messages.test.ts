import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textOf, toMessages, toTools } from '../../../extension/host/language_model/messages';

class Thinking {
  constructor(readonly value: string | string[]) {}
}
const text = (value: string) => ({ value });
const data = (mimeType: string, value: string) => ({
  mimeType,
  data: new TextEncoder().encode(value),
});
const convert = (...messages: { role: number; content: unknown[] }[]) =>
  toMessages(messages, (part) => part instanceof Thinking);
const [USER, ASSISTANT, SYSTEM] = [1, 2, 3];

describe('messages of VS Code', () => {
  it('have three roles, and parts that are put together', () => {
    assert.deepEqual(
      convert(
        { role: SYSTEM, content: [text('Be '), text('brief.')] },
        { role: USER, content: [text('Hello')] },
        { role: ASSISTANT, content: [new Thinking(['h', 'm']), text('Hi.')] },
      ),
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.', reasoning: 'hm', toolCalls: [] },
      ],
    );
  });

  it('keep a tool call, its result with the tool’s name, and what the user says after it', () => {
    const call = { callId: 'c1', name: 'list_dir', input: { path: '/' } };
    const result = { callId: 'c1', content: [text('a.ts\n'), text('b.ts')] };
    assert.deepEqual(
      convert(
        { role: ASSISTANT, content: [call] },
        { role: USER, content: [result, text('And now?')] },
      ),
      [
        {
          role: 'assistant',
          content: '',
          reasoning: '',
          toolCalls: [{ id: 'c1', name: 'list_dir', arguments: '{"path":"/"}' }],
        },
        { role: 'tool', content: 'a.ts\nb.ts', toolCallId: 'c1', name: 'list_dir' },
        { role: 'user', content: 'And now?' },
      ],
    );
  });

  it('lose VS Code’s own marks, keep texts that come as data', () => {
    const content = [
      data('cache_control', 'ephemeral'),
      data('application/json', '{"a":1}'),
      data('text/plain', 'x'),
    ];
    assert.deepEqual(convert({ role: USER, content }), [{ role: 'user', content: '{"a":1}x' }]);
  });

  it('with a picture are refused in words, also in the result of a tool', () => {
    const picture = data('image/png', '...');
    for (const content of [[picture], [{ callId: 'c', content: [picture] }]]) {
      assert.throws(() => convert({ role: USER, content }), {
        code: 'unsupported',
        message: /reads no pictures/,
      });
    }
    assert.equal(textOf([text('a'), picture]), 'a', 'a count takes any message');
  });
});

it('tools bring their schema as text, and one without parameters gets an empty one', () => {
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  assert.deepEqual(
    toTools([
      { name: 'a', description: 'A', inputSchema },
      { name: 'b', description: 'B' },
    ]).map(({ name, parameters }) => [name, JSON.parse(parameters) as unknown]),
    [
      ['a', inputSchema],
      ['b', { type: 'object', properties: {} }],
    ],
  );
});
