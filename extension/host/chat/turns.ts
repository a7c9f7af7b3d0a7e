/** What happens to a conversation, as functions that return the new one. */
import { randomUUID } from 'node:crypto';
import * as l10n from '@vscode/l10n';
import {
  MAX_TITLE,
  type AssistantTurn,
  type Attachment,
  type Conversation,
  type Turn,
  type UserTurn,
} from '../../protocol/conversation';

const TITLE_LENGTH = 60;

/** Of a chat without a question. */
export const newTitle = (): string => l10n.t('New chat');

export function newConversation(now: number): Conversation {
  return { id: randomUUID(), title: newTitle(), createdAt: now, updatedAt: now, turns: [] };
}

export function userTurn(text: string, attachments: readonly Attachment[]): UserTurn {
  return { role: 'user', id: randomUUID(), text, attachments };
}

export function emptyAnswer(): AssistantTurn {
  return {
    role: 'assistant',
    id: randomUUID(),
    text: '',
    reasoning: '',
    reasoningMs: null,
    state: 'waiting',
    problem: '',
    model: '',
    stats: null,
  };
}

/** Adds a question and an empty answer; the first question gives the title. */
export function ask(conversation: Conversation, turn: UserTurn): Conversation {
  const isFirst = conversation.turns.length === 0 && conversation.title === newTitle();
  return {
    ...conversation,
    title: isFirst ? titleOf(turn) : conversation.title,
    turns: [...conversation.turns, turn, emptyAnswer()],
  };
}

/** The conversation up to the question that `answerId` answered, with an empty answer; null when there is none. */
export function retry(conversation: Conversation, answerId: string): Conversation | null {
  const at = conversation.turns.findIndex(({ id }) => id === answerId);
  if (at < 1 || conversation.turns[at]?.role !== 'assistant') return null;
  return { ...conversation, turns: [...conversation.turns.slice(0, at), emptyAnswer()] };
}

/** The question in other words: what followed it is gone. Null when there is no such question, or nothing to ask. */
export function edit(
  conversation: Conversation,
  turnId: string,
  text: string,
): Conversation | null {
  const at = conversation.turns.findIndex(({ id }) => id === turnId);
  const turn = conversation.turns[at];
  if (turn?.role !== 'user' || (text.trim() === '' && turn.attachments.length === 0)) return null;
  const before = { ...conversation, turns: conversation.turns.slice(0, at) };
  return ask(at === 0 ? { ...before, title: newTitle() } : before, { ...turn, text });
}

/** A conversation of its own that begins as this one does, up to the answer; null when there is no such answer. */
export function branch(
  { title, turns }: Conversation,
  answerId: string,
  now: number,
): Conversation | null {
  const at = turns.findIndex(({ id }) => id === answerId);
  if (turns[at]?.role !== 'assistant') return null;
  return {
    ...newConversation(now),
    title: branchTitle(title),
    turns: turns.slice(0, at + 1),
  };
}

export function branchTitle(title: string): string {
  return cleanTitle(l10n.t('{title} (branch)', { title }));
}

export function replaceTurn(conversation: Conversation, turn: Turn): Conversation {
  const turns = conversation.turns.map((old) => (old.id === turn.id ? turn : old));
  return { ...conversation, turns };
}

/** After a reload nothing runs any more: answers that were being written are stopped ones. */
export function settled(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn): Turn => {
    const runs = turn.role === 'assistant' && ['waiting', 'streaming'].includes(turn.state);
    return runs ? { ...turn, state: 'stopped' } : turn;
  });
  return { ...conversation, turns };
}

function titleOf({ text, attachments }: UserTurn): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const what = attachments[0]?.path.split('/').at(-1);
  const full = line.startsWith('/') && what !== undefined ? `${line} ${what}` : line;
  const title = full === '' ? newTitle() : full;
  return shorten(title, TITLE_LENGTH);
}

export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  // Half of a character is none.
  const start = text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '');
  return `${start.trimEnd()}…`;
}

export function cleanTitle(title: string): string {
  return shorten(title.replaceAll(/\s+/g, ' ').trim(), MAX_TITLE) || newTitle();
}
