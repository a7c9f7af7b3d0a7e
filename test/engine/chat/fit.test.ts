import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fitMessages, promptRoom } from '../../../extension/engine/chat/fit';
import type { ChatMessage } from '../../../extension/protocol/chat';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({
  role: 'assistant',
  content,
  reasoning: '',
  toolCalls: [],
});
const system: ChatMessage = { role: 'system', content: 'S' };
/** One token a character. */
const encode = (messages: readonly ChatMessage[]): number[] =>
  [...messages.map(({ content }) => content).join('')].map((char) => char.codePointAt(0) ?? 0);
const sizeOf = ({ content }: ChatMessage): number => content.length;
const fit = (messages: readonly ChatMessage[], room: number) =>
  fitMessages(messages, { room, encode, sizeOf, tools: 0 });
const text = (ids: readonly number[]): string => String.fromCodePoint(...ids);

describe('a conversation that must fit the context', () => {
  it('stays whole when it fits', () => {
    const { prompt: ids, cut } = fit([system, user('aa'), assistant('bb'), user('cc')], 7);
    assert.deepEqual([text(ids), cut], ['Saabbcc', null]);
  });

  it('loses its oldest turns, keeps the system message, and says what it lost', () => {
    const talk = [user('aa'), assistant('bb'), user('c'), assistant('d'), user('ee')];
    const { prompt: ids, cut } = fit([system, ...talk], 8);
    assert.deepEqual([text(ids), cut], ['Scdee', { messages: 2, wantedTokens: 9 }]);
    assert.equal(text(fit([system, ...talk], 4).prompt), 'See');
  });

  it('begins at the same turn for many questions, so that what was read is not read again', () => {
    const room = 400;
    let talk: ChatMessage[] = [];
    const starts = new Set<number>();
    let read = 0;
    let before = '';
    for (let turn = 0; turn < 100; turn++) {
      talk = [...talk, user(`q${turn} `.padEnd(11 + (turn % 7), '?'))];
      const { prompt, cut } = fit([system, ...talk], room);
      const now = text(prompt);
      assert.ok(now.length <= room && now.includes(`q${turn} `), `question ${turn}`);
      if (cut) starts.add(cut.messages);
      let shared = 0;
      while (shared < now.length && now[shared] === before[shared]) shared++;
      read += now.length - shared;
      before = now;
      talk = [...talk, assistant(`a${turn} `.padEnd(20 + (turn % 5), '!'))];
    }
    assert.ok(starts.size >= 8 && starts.size <= 20, `${starts.size} cuts`);
    // 36 tokens a turn are new; a cut reads about half of the room again.
    assert.ok(read < 100 * 36 + starts.size * 230, `${read} tokens were read`);
  });

  it('leaves a long question what it needs', () => {
    const talk = [user('a'), assistant('b'), user('cc'), assistant('dd'), user('e'.repeat(90))];
    assert.match(text(fit([system, ...talk], 95).prompt), /^Sccdd?e{90}$|^Se{90}$/);
  });

  it('never starts in the middle of a turn with tool results', () => {
    const result: ChatMessage = { role: 'tool', content: 'rr', toolCallId: '1', name: 'x' };
    const talk = [user('aa'), assistant('bb'), user('cc'), user('dd'), assistant('ee'), result];
    assert.equal(text(fit(talk, 9).prompt), 'ccddeerr');
  });

  it('refuses a last turn that is too long, with the numbers', () => {
    assert.throws(() => fit([system, user('a'), user('bcdefgh')], 5), {
      code: 'bad_request',
      message: /has 9 tokens, and 5 fit/,
    });
  });

  it('keeps room for an answer, at most a quarter of the context', () => {
    assert.equal(promptRoom(1000, 100), 900);
    assert.equal(promptRoom(1000, 4096), 750);
  });
});
