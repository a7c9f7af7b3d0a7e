import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { History } from '../../../extension/host/chat/history';
import { ask, newConversation, userTurn } from '../../../extension/host/chat/turns';
import type { Conversation } from '../../../extension/protocol/conversation';

const talk = (text: string, updatedAt: number): Conversation => ({
  ...ask(newConversation(1), userTurn(text, [])),
  updatedAt,
});

describe('chat history', () => {
  let folder: string;
  let log: string[];
  const open = (): History => new History(join(folder, 'chats'), (message) => log.push(message));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anllm-history-'));
    log = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is empty before the first chat, and makes no folder', async () => {
    assert.deepEqual(await open().list(), []);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('keeps conversations for the next window, newest first', async () => {
    const [old, young] = [talk('old one', 10), talk('young one', 20)];
    const history = open();
    await Promise.all([history.save(young), history.save(old)]);
    const again = open();
    assert.deepEqual(
      (await again.list()).map(({ title, turns }) => [title, turns]),
      [
        ['young one', 2],
        ['old one', 2],
      ],
    );
    assert.deepEqual(await again.read(old.id), old);
  });

  it('finds words in any order, in titles and texts', async () => {
    const history = open();
    const [a, b] = [talk('parse the JSON header', 1), talk('sort a list', 2)];
    await history.save(a);
    await history.save({ ...b, title: 'Quicksort' });
    const found = async (query: string) => (await history.list(query)).map(({ id }) => id);
    assert.deepEqual(await found('json PARSE'), [a.id]);
    assert.deepEqual(await found('quicksort list'), [b.id]);
    assert.deepEqual(await found('nothing'), []);
  });

  it('a later save wins, and a deleted chat is gone', async () => {
    const history = open();
    const first = talk('x', 1);
    await history.save(first);
    await history.save({ ...first, title: 'renamed' });
    assert.equal((await open().list())[0]?.title, 'renamed');
    await history.remove(first.id);
    assert.deepEqual(await history.list(), []);
    assert.equal(await history.read(first.id), null);
    assert.deepEqual(readdirSync(join(folder, 'chats')), []);
  });

  it('lists what other windows wrote and deleted', async () => {
    const [one, other] = [open(), open()];
    const [a, b] = [talk('first', 1), talk('second', 2)];
    await one.save(a);
    assert.equal((await one.list()).length, 1);
    await other.save(b);
    await other.save({ ...a, title: 'renamed' });
    assert.deepEqual(
      (await one.list()).map(({ title }) => title),
      ['second', 'renamed'],
    );
    assert.deepEqual([await one.isOurs(a.id), await one.isOurs(b.id)], [false, true]);
    await other.remove(b.id);
    assert.equal((await one.list()).length, 1);
  });

  it('leaves a damaged file alone, says so, and shows the others', async () => {
    const history = open();
    const good = talk('good', 1);
    await history.save(good);
    const bad = join(folder, 'chats', '00000000-0000-4000-8000-000000000000.json');
    writeFileSync(bad, '{"version":1,"conversation":{"id":');
    assert.deepEqual(
      (await open().list()).map(({ id }) => id),
      [good.id],
    );
    assert.match(log[0] ?? '', /00000000.*cannot be read/);
    assert.equal(readdirSync(join(folder, 'chats')).length, 2);
  });

  it('takes no id that leads out of its folder', async () => {
    writeFileSync(join(folder, 'secret.json'), '{}');
    const history = open();
    assert.equal(await history.read('../secret'), null);
    await history.remove('../secret');
    await history.save({ ...talk('x', 1), id: '../secret' });
    assert.deepEqual(readdirSync(folder), ['secret.json']);
  });
});
