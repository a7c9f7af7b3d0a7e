import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ToView } from '../../extension/protocol/chat_view';
import { until } from '../until';
import { PacedMessages } from '../../webview/pace';

before(() => Object.assign(globalThis, { window: globalThis }));

const delta = (text: string, part: 'text' | 'reasoning' = 'text'): ToView => ({
  kind: 'delta',
  turn: 'a',
  part,
  text,
});

test('what takes long to show is shown less often, and none of it is lost', async () => {
  const shown: ToView[] = [];
  let worked = 0;
  const messages = new PacedMessages((message) => {
    shown.push(message);
    for (const end = performance.now() + 20; performance.now() < end;);
    worked += 20;
  });
  const started = performance.now();
  for (let at = 0; at < 40; at++) {
    messages.push(delta(`${at} `));
    await delay(10);
  }
  const share = worked / (performance.now() - started);
  assert(share < 0.5, `${(100 * share).toFixed(0)} % of the time went into showing`);
  messages.push({ kind: 'showHistory' });
  const text = shown.map((message) => (message.kind === 'delta' ? message.text : '!')).join('');
  assert.equal(text, `${Array.from({ length: 40 }, (_, at) => `${at} `).join('')}!`);
});

test('the first text is shown at once, thoughts and text in their order', async () => {
  const shown: ToView[] = [];
  const messages = new PacedMessages((message) => shown.push(message));
  const all = [delta('a', 'reasoning'), delta('b'), delta('c', 'reasoning')];
  for (const message of all) {
    messages.push(message);
    assert(shown.length > 0);
    await delay(1);
  }
  await until('all of them', () => shown.length === all.length);
  assert.deepEqual(shown, all);
});
