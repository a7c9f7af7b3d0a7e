import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ToView } from '../../extension/protocol/chat_view';
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

test('what is quickly shown is shown at once, thoughts and text in their order', async () => {
  const shown: ToView[] = [];
  const messages = new PacedMessages((message) => shown.push(message));
  for (const message of [delta('a', 'reasoning'), delta('b'), delta('c')]) {
    messages.push(message);
    assert.equal(shown.at(-1), message);
    await delay(1);
  }
});
