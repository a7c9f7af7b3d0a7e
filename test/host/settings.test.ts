import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answersChanged, engineChanged, parseSettings } from '../../extension/host/settings';

const settings = (values: Readonly<Record<string, unknown>> = {}) =>
  parseSettings((key) => values[key], '/built/in');

describe('changed settings', () => {
  it('make remembered answers void when they say how long an answer is', () => {
    for (const values of [{ 'completion.multiline': 'never' }, { 'completion.maxTokens': 512 }]) {
      assert(answersChanged(settings(), settings(values)));
      assert(!engineChanged(settings(), settings(values)), 'and need no other engine');
    }
    assert(!answersChanged(settings(), settings({ 'completion.debounce': 100 })));
  });
});
