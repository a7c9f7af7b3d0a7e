import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ChatController } from '../../../extension/host/chat/controller';
import { History } from '../../../extension/host/chat/history';
import type { CallOptions } from '../../../extension/host/engine/link';
import type { ChatPart, ChatRequest, ChatResult } from '../../../extension/protocol/chat';
import type { ToView } from '../../../extension/protocol/chat_view';
import type { AssistantTurn, Attachment } from '../../../extension/protocol/conversation';
import { ProtocolError } from '../../../extension/protocol/errors';
import { INITIAL, reduce, runningAnswer, type ViewState } from '../../../webview/state';

const RESULT: ChatResult = {
  finish: 'stop',
  usage: { promptTokens: 10, cachedTokens: 0, generatedTokens: 3 },
  timings: { queueMs: 0, prefillMs: 1, decodeMs: 100, totalMs: 101 },
};
const FILE: Attachment = {
  id: 'f',
  kind: 'file',
  path: 'a.ts',
  languageId: 'typescript',
  lines: null,
  text: 'code',
};
type Script = (
  request: ChatRequest,
  options: CallOptions<'chat'>,
) => Promise<ChatResult> | ChatResult;

const parts =
  (...list: ChatPart[]): Script =>
  (_, { onPartial }) => {
    for (const part of list) onPartial?.(part);
    return RESULT;
  };
const text = (value: string): ChatPart => ({ kind: 'text', text: value });

describe('chat controller', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'anllm-chat-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A controller with a scripted engine, and the page that it talks to. */
  class Lab {
    script: Script = parts(text('answer'));
    readonly asked: ChatRequest[] = [];
    page: ViewState = INITIAL;
    clock = 1000;
    remembered = '';
    numForgotten = 0;
    readonly history = new History(folder, (message) => assert.fail(message));
    readonly controller = new ChatController({
      chat: async (request, options) => {
        this.asked.push(request);
        return this.script(request, options);
      },
      model: () => ({ state: 'ready', title: 'Lab', detail: '', contextLength: 100 }),
      maxTokens: () => 50,
      temperature: () => 0.5,
      history: this.history,
      post: (message) => this.see(message),
      autoAttach: () => FILE,
      remember: (id) => (this.remembered = id),
      forget: async () => void this.numForgotten++,
      log: (message) => assert.fail(message),
      now: () => this.clock,
    });

    private see(message: ToView): void {
      this.page = reduce(this.page, message);
    }

    get answer(): AssistantTurn {
      const last = this.page.turns.at(-1);
      assert(last?.role === 'assistant');
      return last;
    }

    get said(): string[] {
      return this.page.turns.map((turn) => turn.text);
    }
  }

  it('asks, shows the answer as it comes, and keeps it', async () => {
    const lab = new Lab();
    let shown = '';
    lab.script = async (_, { onPartial }) => {
      onPartial?.({ kind: 'prompt', promptTokens: 10, contextLength: 100, cut: null });
      onPartial?.(text('one'));
      assert.equal(lab.answer.text, 'one');
      onPartial?.(text(' two'));
      await new Promise((resolve) => setTimeout(resolve, 60));
      shown = lab.answer.text;
      return RESULT;
    };
    await lab.controller.send('Hello');
    assert.equal(shown, 'one two');
    assert.deepEqual(lab.asked[0]?.messages.at(-1), { role: 'user', content: 'Hello' });
    assert.equal(lab.asked[0]?.sampling.temperature, 0.5);
    const { state, model, stats } = lab.answer;
    assert.deepEqual([state, model, stats?.contextLength], ['done', 'Lab', 100]);
    assert.equal(lab.page.announcement, 'Answer: one two');
    assert.deepEqual(await lab.history.read(lab.remembered), lab.controller.current);
  });

  it('measures the time of thoughts, from the first to the answer', async () => {
    const lab = new Lab();
    lab.script = (_, { onPartial }) => {
      onPartial?.({ kind: 'reasoning', text: 'hm' });
      lab.clock += 1500;
      onPartial?.({ kind: 'reasoning', text: ', well' });
      onPartial?.(text('Yes.'));
      lab.clock += 900;
      return RESULT;
    };
    await lab.controller.send('Really?');
    const { reasoning, reasoningMs } = lab.answer;
    assert.deepEqual([reasoning, reasoningMs], ['hm, well', 1500]);
  });

  it('stops, keeps what there is, and asks again', async () => {
    const lab = new Lab();
    lab.script = (_, { onPartial, signal }) => {
      onPartial?.(text('half'));
      lab.controller.stop();
      assert(signal?.aborted);
      return { ...RESULT, finish: 'cancelled' };
    };
    await lab.controller.send('Go');
    assert.deepEqual([lab.answer.state, lab.answer.text], ['stopped', 'half']);
    lab.script = parts(text('whole'));
    await lab.controller.retry(lab.answer.id);
    assert.deepEqual(lab.said, ['Go', 'whole']);
    assert.deepEqual(lab.asked[1]?.messages.length, 2, 'the stopped answer is not in the prompt');
  });

  it('an edited question replaces what followed', async () => {
    const lab = new Lab();
    await lab.controller.send('One');
    await lab.controller.send('Two');
    await lab.controller.edit(lab.page.turns[0]?.id ?? '', 'Uno');
    assert.deepEqual(lab.said, ['Uno', 'answer']);
    assert.equal(lab.page.title, 'Uno');
  });

  it('says why an answer failed, and goes on', async () => {
    const lab = new Lab();
    lab.script = () => {
      throw new ProtocolError('unavailable', 'the engine process ended (SIGKILL)');
    };
    await lab.controller.send('Hello');
    assert.deepEqual(
      [lab.answer.state, lab.answer.problem],
      ['failed', 'the engine process ended (SIGKILL)'],
    );
    lab.script = parts(text('back'));
    await lab.controller.retry(lab.answer.id);
    assert.equal(lab.answer.text, 'back');
  });

  it('tells what was left out, and that an answer was cut', async () => {
    const lab = new Lab();
    const cut = { messages: 4, wantedTokens: 5000 };
    lab.script = (_, { onPartial }) => {
      onPartial?.({ kind: 'prompt', promptTokens: 10, contextLength: 100, cut });
      return { ...RESULT, finish: 'length' };
    };
    await lab.controller.send('Hello');
    assert.match(
      lab.answer.problem,
      /oldest 4 messages were left out.*5,000 tokens.*ends at 3 tokens/,
    );
  });

  it('says that an answer has no words', async () => {
    const lab = new Lab();
    lab.script = parts({ kind: 'reasoning', text: 'hm' });
    await lab.controller.send('Hello');
    assert.deepEqual(
      [lab.answer.state, lab.answer.problem],
      ['done', 'The model ended without an answer.'],
    );
  });

  it('a command without attachments is about the open file; with one it is about that', async () => {
    const lab = new Lab();
    await lab.controller.send('/explain');
    assert.match(String(lab.asked[0]?.messages.at(-1)?.content), /File: a\.ts/);
    lab.controller.attach({ ...FILE, path: 'b.ts' });
    lab.controller.attach({ ...FILE, path: 'b.ts', id: 'again' });
    assert.equal(lab.page.attachments.length, 1);
    await lab.controller.send('/fix');
    assert.doesNotMatch(String(lab.asked[1]?.messages.at(-1)?.content), /a\.ts/);
    assert.deepEqual(lab.page.attachments, []);
  });

  it('sends nothing empty and nothing while an answer is written', async () => {
    const lab = new Lab();
    await lab.controller.send('  \n');
    assert.equal(lab.asked.length, 0);
    lab.script = async () => {
      await lab.controller.send('Again');
      assert(runningAnswer(lab.page.turns));
      return RESULT;
    };
    await lab.controller.send('Hello');
    assert.equal(lab.asked.length, 1);
  });

  it('another chat stops the answer; the first one is kept as far as it came', async () => {
    const lab = new Lab();
    lab.script = (_, { onPartial }) => {
      onPartial?.(text('half'));
      lab.controller.newChat();
      onPartial?.(text(' lost'));
      return { ...RESULT, finish: 'cancelled' };
    };
    await lab.controller.send('First');
    assert.deepEqual(lab.said, []);
    const [entry] = await lab.history.list();
    await lab.controller.open(entry?.id ?? '');
    assert.deepEqual(lab.said, ['First', 'half']);
    assert.equal(lab.answer.state, 'stopped');
  });

  it('comes back in the next window, renamed or not, and not when deleted', async () => {
    const lab = new Lab();
    await lab.controller.send('Hello');
    await lab.controller.rename(lab.remembered, 'Greetings');
    const next = new Lab();
    await next.controller.restore(lab.remembered);
    assert.deepEqual([next.page.title, next.said], ['Greetings', ['Hello', 'answer']]);
    await next.controller.remove(lab.remembered);
    assert.deepEqual(next.said, []);
    assert.deepEqual(await next.history.list(), []);
    assert.equal(next.numForgotten, 1);
  });

  it('a new chat takes its first question at once, while the old answer still ends', async () => {
    const lab = new Lab();
    let end = (): void => undefined;
    lab.script = async () => {
      await new Promise<void>((resolve) => (end = resolve));
      return { ...RESULT, finish: 'cancelled' };
    };
    const first = lab.controller.send('First');
    while (lab.asked.length === 0) await new Promise(setImmediate);
    lab.controller.newChat();
    lab.script = parts(text('answer'));
    await lab.controller.send('Second');
    end();
    await first;
    assert.deepEqual(lab.said, ['Second', 'answer']);
  });

  it('takes no more attachments than can be kept, and keeps them', async () => {
    const lab = new Lab();
    const attach = (id: number): void =>
      lab.controller.attach({ ...FILE, id: `${id}`, path: `${id}.ts` });
    for (let id = 0; id < 256; id++) attach(id);
    assert.throws(() => attach(256), /256 attachments/);
    await lab.controller.send('Look');
    assert.deepEqual(await lab.history.read(lab.remembered), lab.controller.current);
    const big = { ...FILE, text: 'x'.repeat(3 * 2 ** 20) };
    lab.controller.attach(big);
    assert.throws(() => lab.controller.attach({ ...big, path: 'b.ts' }), /b\.ts is too much/);
  });

  it('keeps a chat whose answer failed with a long message', async () => {
    const lab = new Lab();
    lab.script = () => {
      throw new ProtocolError('unavailable', 'no '.repeat(10_000));
    };
    await lab.controller.send('Hello');
    assert.deepEqual(await lab.history.read(lab.remembered), lab.controller.current);
  });

  it('a question that is only attachments can be asked again, an empty one cannot', async () => {
    const lab = new Lab();
    lab.controller.attach(FILE);
    await lab.controller.send('');
    await lab.controller.edit(lab.page.turns[0]?.id ?? '', '');
    assert.equal(lab.asked.length, 2);
    await lab.controller.send('Two');
    await lab.controller.edit(lab.page.turns[2]?.id ?? '', ' ');
    assert.equal(lab.asked.length, 3);
  });

  it('says that a chat which is gone cannot be opened, and keeps the one that is open', async () => {
    const lab = new Lab();
    await lab.controller.send('Hello');
    const gone = '00000000-0000-4000-8000-000000000000';
    await assert.rejects(lab.controller.open(gone), /deleted in another window/);
    await lab.controller.restore(gone);
    assert.deepEqual(lab.said, ['Hello', 'answer']);
  });

  it('two windows with one chat lose nothing of each other', async () => {
    const [one, two] = [new Lab(), new Lab()];
    await one.controller.send('Hello');
    await two.controller.open(one.remembered);
    await two.controller.send('From the second');
    one.clock += 10_000;
    await one.controller.send('From the first');
    const texts = async (): Promise<string[]> => {
      const list = await one.history.list();
      const all = await Promise.all(list.map(({ id }) => one.history.read(id)));
      return all.map((chat) => (chat?.turns ?? []).map(({ text }) => text).join(' ')).sort();
    };
    const both = ['Hello answer From the first answer', 'Hello answer From the second answer'];
    assert.deepEqual(await texts(), both);
    assert.equal(one.page.title, 'Hello (branch)');
    await one.controller.open(two.remembered);
    await two.controller.send('More');
    one.controller.newChat();
    await one.controller.rename(two.remembered, 'Renamed');
    both[1] += ' More answer';
    assert.deepEqual(await texts(), both);
  });
});
