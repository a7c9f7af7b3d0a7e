import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requestChecks, notificationChecks } from '../../extension/protocol/messages';
import { ProtocolError } from '../../extension/protocol/errors';
import type { CompletionRequest } from '../../extension/protocol/completion';

const REQUEST: CompletionRequest = {
  path: 'src/a.ts',
  languageId: 'typescript',
  prefix: 'const x = ',
  prefixLine: 0,
  suffix: '\n',
  eol: '\n',
  tabSize: 2,
  insertSpaces: true,
  multiline: 'auto',
  maxTokens: 64,
};

const refusals: readonly [string, unknown, RegExp][] = [
  ['no object', 'text', /^complete: expected an object, got "text"$/],
  ['a list', [], /^complete: expected an object, got \[\]$/],
  ['a missing key', { ...REQUEST, prefix: undefined }, /^complete\.prefix: expected a string/],
  ['an unknown key', { ...REQUEST, apiKey: 'x' }, /^complete: expected the keys path,.*"apiKey"$/],
  ['a wrong type', { ...REQUEST, tabSize: '2' }, /^complete\.tabSize: expected an integer/],
  ['a number out of range', { ...REQUEST, maxTokens: 0 }, /maxTokens: .* from 1 to 2048, got 0$/],
  ['half a token', { ...REQUEST, maxTokens: 1.5 }, /maxTokens: expected an integer/],
  [
    'a word of another set',
    { ...REQUEST, multiline: 'yes' },
    /one of auto, never, always, got "yes"/,
  ],
  ['another line end', { ...REQUEST, eol: '\r' }, /complete\.eol/],
  [
    'too long a text',
    { ...REQUEST, suffix: 'x'.repeat(70_000) },
    /^complete\.suffix: expected at most 65536 characters, got 70000$/,
  ],
];

describe('messages', () => {
  it('a good request passes unchanged', () => {
    assert.deepEqual(requestChecks.complete.params(REQUEST, 'complete'), REQUEST);
  });

  for (const [name, value, message] of refusals) {
    it(`refuses ${name} and says where and why`, () => {
      assert.throws(
        () => requestChecks.complete.params(value, 'complete'),
        (error) =>
          error instanceof ProtocolError &&
          error.code === 'bad_request' &&
          message.test(error.message) &&
          !error.message.includes('\n'),
      );
    });
  }

  it('tells the members of a union by their tag', () => {
    const check = notificationChecks.status;
    assert.deepEqual(check({ state: 'idle', memoryBytes: 1 }, 'status'), {
      state: 'idle',
      memoryBytes: 1,
    });
    assert.throws(() => check({ state: 'gone' }, 'status'), /status\.state: expected one of idle,/);
    assert.throws(() => check(null, 'status'), /status\.state: expected one of/);
    assert.throws(
      () => check({ state: 'idle' }, 'status'),
      /status\.memoryBytes: expected a number/,
    );
  });
});
