import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, contextUse, cutLine, seconds, statsLine, thousands } from '../../webview/figures';
import { highlight } from '../../webview/highlight';
import { suggestions, symbolQuery } from '../../webview/suggestions';
import type { AssistantTurn, TurnStats } from '../../extension/protocol/conversation';

const STATS: TurnStats = {
  promptTokens: 100,
  cachedTokens: 0,
  generatedTokens: 41,
  contextLength: 1000,
  decodeMs: 1000,
  totalMs: 3210,
  cut: null,
};
const answer = (stats: TurnStats | null): AssistantTurn => ({
  role: 'assistant',
  id: 'a',
  text: '',
  reasoning: '',
  reasoningMs: null,
  state: 'done',
  problem: '',
  model: '',
  stats,
});

test('the meter adds what was, what is typed and what is attached', () => {
  assert.equal(contextUse([], [], 'hello', 0), null);
  const nothing = {
    usedTokens: 0,
    conversationTokens: 0,
    attachedTokens: 0,
    typedTokens: 0,
    cut: null,
  };
  assert.deepEqual(contextUse([], [], 'x'.repeat(36), 500), {
    ...nothing,
    usedTokens: 10,
    typedTokens: 10,
    contextLength: 500,
  });
  const attached = { text: 'y'.repeat(360) } as never;
  assert.deepEqual(contextUse([answer(STATS), answer(null)], [attached], '', 0), {
    ...nothing,
    usedTokens: 241,
    conversationTokens: 141,
    attachedTokens: 100,
    contextLength: 1000,
  });
});

test('the context says what was cut, why, and what will be', () => {
  const of = (stats: TurnStats, typed = '') => {
    const use = contextUse([answer(stats)], [], typed, 0);
    assert.ok(use);
    return cutLine(use);
  };
  assert.equal(of(STATS), 'Nothing was left out.');
  const cut = { messages: 6, wantedTokens: 1400 };
  assert.match(
    of({ ...STATS, cut }),
    /oldest 6 messages .* has 1.4k tokens.* holds 1.0k.*new chat/,
  );
  assert.match(of(STATS, 'x'.repeat(4000)), /next question does not fit.*new chat/);
});

test('the footer has tokens, speed of the answer alone, and the time of all', () => {
  assert.equal(statsLine(STATS), '41 tokens · 40 tokens/s · 3.2 s');
  assert.equal(statsLine({ ...STATS, generatedTokens: 1, decodeMs: 0 }), '1 token · 3.2 s');
});

test('numbers are short', () => {
  assert.deepEqual(
    [seconds(250), seconds(12_340), seconds(75_000)],
    ['0.3 s', '12 s', '1 min 15 s'],
  );
  assert.deepEqual([thousands(999), thousands(8192)], ['999', '8.2k']);
  assert.deepEqual(
    [ago(0, 30_000), ago(0, 7_200_000), ago(0, 1e9)],
    ['just now', '2 h ago', 'Jan 1, 1970'],
  );
});

test('commands are offered while their name is typed', () => {
  const none = { query: '', list: [] };
  const names = (text: string) => suggestions(text, none).map(({ label }) => label);
  assert.deepEqual(names('/'), ['/explain', '/fix', '/tests', '/doc']);
  assert.deepEqual(names('/e'), ['/explain']);
  assert.deepEqual([names(''), names('/fix '), names('a /')], [[], [], []]);
});

test('names of code are offered behind a #, for the letters that stand there', () => {
  const list = [{ id: '1', name: 'total', detail: 'a.ts:1' }];
  const offered = (text: string) => suggestions(text, { query: 'to', list }).map((one) => one.text);
  assert.deepEqual(offered('what does #to'), ['what does `total` ']);
  assert.deepEqual([offered('#tot'), offered('#to '), offered('a#to')], [[], [], []]);
  assert.deepEqual(['#', 'a #x', '#x y', 'C#'].map(symbolQuery), ['', 'x', null, null]);
});

test('each line of highlighted code stands for itself', () => {
  const lines = highlight('/* one\n two */ const x = `a\nb`;', 'ts');
  assert.equal(lines.length, 3);
  for (const line of lines) {
    assert.equal(line.match(/<span/g)?.length ?? 0, line.match(/<\/span>/g)?.length ?? 0, line);
  }
  assert.deepEqual(highlight('<b>', 'nonsense'), ['&lt;b&gt;']);
});

test('of very long code the beginning keeps its colours, and every line is there once', () => {
  const line = 'const x = "<text>";\n';
  const code = line.repeat(5000);
  const lines = highlight(code, 'ts');
  assert.equal(lines.length, 5001);
  assert.match(lines[2900] ?? '', /hljs-keyword/);
  assert.equal(lines[4999], 'const x = "&lt;text&gt;";');
  assert.deepEqual(highlight(code + line, 'ts').slice(0, 5000), lines.slice(0, 5000));
  assert.deepEqual(highlight('x'.repeat(70_000), 'ts'), ['x'.repeat(70_000)]);
});
