import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ask,
  cleanTitle,
  edit,
  emptyAnswer,
  newConversation,
  newTitle,
  replaceTurn,
  retry,
  settled,
  userTurn,
} from '../../../extension/host/chat/turns';
import type { Attachment, Conversation } from '../../../extension/protocol/conversation';

const file: Attachment = {
  id: 'a',
  kind: 'file',
  path: 'src/math.ts',
  languageId: 'typescript',
  lines: null,
  text: 'x',
};
const shape = ({ turns }: Conversation): string[] =>
  turns.map((turn) => (turn.role === 'user' ? turn.text : `(${turn.state})`));
const [first, second] = [userTurn('one', []), userTurn('two', [])];
const talk = ask(ask(newConversation(5), first), second);
const answerIds = talk.turns.filter(({ role }) => role === 'assistant').map(({ id }) => id);

describe('turns of a conversation', () => {
  it('a question brings an empty answer, and the first one the title', () => {
    assert.deepEqual(shape(talk), ['one', '(waiting)', 'two', '(waiting)']);
    assert.equal(talk.title, 'one');
  });

  it('the title of a command names the file; a long one is cut', () => {
    assert.equal(ask(newConversation(0), userTurn('/explain', [file])).title, '/explain math.ts');
    const long = ask(newConversation(0), userTurn('word '.repeat(40), [])).title;
    assert(long.length <= 60 && long.endsWith('…'));
    assert.equal(cleanTitle(`${'a'.repeat(198)}😀😀`), `${'a'.repeat(198)}…`);
  });

  it('a retry cuts what follows the answer', () => {
    const again = retry(talk, answerIds[0] ?? '');
    assert(again);
    assert.deepEqual(shape(again), ['one', '(waiting)']);
    assert.notEqual(again.turns[1]?.id, answerIds[0]);
    assert.equal(retry(talk, first.id), null);
    assert.equal(retry(talk, 'nobody'), null);
  });

  it('an edit replaces the question and all that follows, and keeps its attachments', () => {
    const withFile = ask(newConversation(0), userTurn('one', [file]));
    const edited = edit(withFile, withFile.turns[0]?.id ?? '', 'three');
    assert(edited);
    assert.deepEqual(shape(edited), ['three', '(waiting)']);
    assert.deepEqual(edited.turns[0]?.role === 'user' && edited.turns[0].attachments, [file]);
    assert.equal(edited.title, 'three');
    assert.equal(edit(talk, answerIds[0] ?? '', 'x'), null);
  });

  it('after a reload an answer that was being written is a stopped one', () => {
    const answer = { ...emptyAnswer(), id: answerIds[1] ?? '', state: 'done' as const };
    assert.deepEqual(shape(settled(replaceTurn(talk, answer))), [
      'one',
      '(stopped)',
      'two',
      '(done)',
    ]);
  });

  it('a title is one line that is not empty', () => {
    assert.equal(cleanTitle(' a\n b '), 'a b');
    assert.equal(cleanTitle(' \n'), newTitle());
    assert.equal(cleanTitle('x'.repeat(500)).length, 200);
  });
});
