import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toMarkdown } from '../../../extension/host/chat/export';
import { attachmentText, parseSlash, promptOf } from '../../../extension/host/chat/prompt';
import { ask, emptyAnswer, newConversation, userTurn } from '../../../extension/host/chat/turns';
import type { Attachment } from '../../../extension/protocol/conversation';

const selection: Attachment = {
  id: 'a',
  kind: 'selection',
  path: 'src/math.ts',
  languageId: 'typescript',
  lines: [3, 5],
  text: 'return a - b;\n',
};

describe('the prompt of a conversation', () => {
  it('has instructions, questions with attachments, and answers that came to something', () => {
    const done = { ...emptyAnswer(), text: 'Because.', reasoning: 'hm', state: 'done' as const };
    const stopped = { ...emptyAnswer(), state: 'stopped' as const };
    const turns = [userTurn('Why?', [selection]), done, userTurn('And now?', []), stopped];
    const [system, question, answer, last, ...none] = promptOf({ turns });
    assert.equal(system?.role, 'system');
    assert.equal(
      question?.content,
      'Selection: src/math.ts, lines 3 to 5\n```typescript\nreturn a - b;\n```\n\nWhy?',
    );
    assert.deepEqual(answer, {
      role: 'assistant',
      content: 'Because.',
      reasoning: 'hm',
      toolCalls: [],
    });
    assert.equal(last?.content, 'And now?');
    assert.deepEqual(none, []);
  });

  it('says a slash command in words, with what was typed after it', () => {
    const [, question] = promptOf({ turns: [userTurn('/fix it throws on NaN', [selection])] });
    assert.match(question?.content ?? '', /Find the bugs[^]*\nit throws on NaN$/);
    assert.doesNotMatch(question?.content ?? '', /\/fix/);
  });

  it('knows its commands, and nothing else, at the start', () => {
    assert.deepEqual(parseSlash('/explain'), { command: 'explain', rest: '' });
    assert.deepEqual(parseSlash('/tests with mocha'), { command: 'tests', rest: 'with mocha' });
    for (const text of ['/explained', '/usr/bin', 'say /fix', '/toString', '']) {
      assert.deepEqual(parseSlash(text), { command: null, rest: text });
    }
  });

  it('fences code that has fences itself', () => {
    const text = attachmentText({ ...selection, text: 'a\n````\nb' });
    assert.match(text, /\n`{5}typescript\na\n````\nb\n`{5}$/);
  });

  it('closes code in which an answer was stopped, so that the rest of the export is none of it', () => {
    const exported = (text: string): string =>
      toMarkdown({ ...newConversation(0), turns: [{ ...emptyAnswer(), text }] }).split('## ')[1] ??
      '';
    assert.match(exported('See:\n\n````md\n```ts\nx'), /```ts\nx\n````\n$/);
    for (const whole of ['```ts\nx\n```', '```not a fence``` text', '~~~\n```\n~~~']) {
      assert(exported(whole).endsWith(`${whole}\n`), whole);
    }
  });

  it('exports as Markdown, thoughts quoted', () => {
    const { turns } = ask(newConversation(0), userTurn('Why?', []));
    const answer = { ...emptyAnswer(), text: 'Because.', reasoning: 'a\n\nb', model: 'Echo' };
    const text = toMarkdown({
      ...newConversation(0),
      title: 'Why?',
      turns: [...turns.slice(0, 1), answer],
    });
    assert.equal(
      text,
      '# Why?\n\n1970-01-01 00:00 UTC\n\n## You\n\nWhy?\n\n## Echo\n\n> a\n>\n> b\n\nBecause.\n',
    );
  });
});
