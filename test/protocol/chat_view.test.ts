import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkFromView } from '../../extension/protocol/chat_view';
import { checkConversation } from '../../extension/protocol/conversation';

const check = (value: unknown) => checkFromView(value, 'chat view');

describe('messages of the chat page', () => {
  it('pass when they are what the page sends', () => {
    for (const message of [
      { kind: 'ready' },
      { kind: 'send', text: 'Hello' },
      { kind: 'code', action: 'apply', code: 'x', language: 'ts' },
      { kind: 'rename', id: 'a', title: 'b' },
    ]) {
      assert.deepEqual(check(message), message);
    }
  });

  const hostile: readonly [string, unknown][] = [
    ['nothing', undefined],
    ['a text', 'ready'],
    ['an unknown kind', { kind: 'executeCommand', command: 'workbench.action.terminal.new' }],
    ['a kind of Object.prototype', { kind: 'toString' }],
    ['a further key', { kind: 'ready', path: '/etc/passwd' }],
    ['a key of the prototype', JSON.parse('{"kind":"ready","__proto__":{"x":1}}')],
    ['a wrong type', { kind: 'send', text: ['Hello'] }],
    ['a missing field', { kind: 'open' }],
    ['an unknown action', { kind: 'code', action: 'run', code: 'rm -rf /', language: 'sh' }],
    ['50 MB', { kind: 'send', text: 'x'.repeat(50 * 2 ** 20) }],
    ['a long id', { kind: 'open', id: '../'.repeat(100) }],
  ];
  for (const [name, value] of hostile) {
    it(`are refused with ${name}, in one short line`, () => {
      assert.throws(
        () => check(value),
        (error: Error) => error.message.length < 400 && !error.message.includes('\n'),
      );
    });
  }
});

describe('a file of the chat history', () => {
  const answer = {
    role: 'assistant',
    id: 'a',
    text: 'Hi',
    reasoning: '',
    reasoningMs: null,
    state: 'done',
    problem: '',
    model: 'x',
    stats: null,
  };
  const file = { id: 'c', title: 't', createdAt: 1, updatedAt: 2, turns: [answer] };

  it('passes as it was written', () => {
    assert.deepEqual(checkConversation(JSON.parse(JSON.stringify(file)), 'file'), file);
  });

  it('is refused when a turn is damaged, with the place', () => {
    const turns = [answer, { ...answer, state: 'asleep' }];
    assert.throws(
      () => checkConversation({ ...file, turns }, 'file'),
      /^.*file\.turns\[1\]\.state/,
    );
    assert.throws(() => checkConversation({ ...file, turns: [{ role: 'system' }] }, 'file'));
  });
});
