/** A conversation as it is shown, and as it is kept in files. */
import type { ContextCut } from './chat';
import { amount, integer, list, nullable, object, oneOf, text, union, type Check } from './check';

export const ATTACHMENT_KINDS = [
  'selection',
  'file',
  'folder',
  'symbol',
  'problem',
  'terminal',
  'diff',
] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** Text that goes to the model with a question, as it was when it was attached. */
export interface Attachment {
  readonly id: string;
  readonly kind: AttachmentKind;
  /** Relative to the workspace, with '/'; of a terminal, its name. */
  readonly path: string;
  readonly languageId: string;
  /** One-based lines, both included; null for a whole file. */
  readonly lines: readonly [number, number] | null;
  readonly text: string;
}

export interface UserTurn {
  readonly role: 'user';
  readonly id: string;
  /** As typed; may begin with a slash command. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

export interface TurnStats {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly contextLength: number;
  /** Of the answer alone, and of the whole request. */
  readonly decodeMs: number;
  readonly totalMs: number;
  readonly cut: ContextCut | null;
}

export const ANSWER_STATES = ['waiting', 'streaming', 'done', 'stopped', 'failed'] as const;
export type AnswerState = (typeof ANSWER_STATES)[number];

export interface AssistantTurn {
  readonly role: 'assistant';
  readonly id: string;
  readonly text: string;
  readonly reasoning: string;
  /** How long it thought; null while it does, or when it did not. */
  readonly reasoningMs: number | null;
  readonly state: AnswerState;
  /** Why it failed, or what was left out; '' when all is well. */
  readonly problem: string;
  /** Title of the model that answered. */
  readonly model: string;
  readonly stats: TurnStats | null;
}

export type Turn = UserTurn | AssistantTurn;

export interface Conversation {
  readonly id: string;
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly turns: readonly Turn[];
}

/** A line of the history. */
export type HistoryEntry = Pick<Conversation, 'id' | 'title' | 'updatedAt'> & {
  readonly turns: number;
};

const MAX_TEXT = 8 * 2 ** 20;
const MAX_TURNS = 4096;
export const MAX_TITLE = 200;
export const MAX_PROBLEM = 8192;
/** Of one question. */
export const MAX_ATTACHMENTS = 256;
const count = integer(0, 2 ** 31);
const id = text(64);
const line = integer(1, 2 ** 31);

const checkLines: Check<readonly [number, number]> = (value, at) => {
  const [from = 1, to = from] = list(line, 2)(value, at);
  return [from, to];
};

export const checkAttachment: Check<Attachment> = object<Attachment>({
  id,
  kind: oneOf(ATTACHMENT_KINDS),
  path: text(4096),
  languageId: text(256),
  lines: nullable(checkLines),
  text: text(MAX_TEXT),
});

export const checkTurn: Check<Turn> = union<'role', Turn>('role', {
  user: object<UserTurn>({
    role: oneOf(['user']),
    id,
    text: text(MAX_TEXT),
    attachments: list(checkAttachment, MAX_ATTACHMENTS),
  }),
  assistant: object<AssistantTurn>({
    role: oneOf(['assistant']),
    id,
    text: text(MAX_TEXT),
    reasoning: text(MAX_TEXT),
    reasoningMs: nullable(amount),
    state: oneOf(ANSWER_STATES),
    problem: text(MAX_PROBLEM),
    model: text(8192),
    stats: nullable(
      object<TurnStats>({
        promptTokens: count,
        cachedTokens: count,
        generatedTokens: count,
        contextLength: count,
        decodeMs: amount,
        totalMs: amount,
        cut: nullable(object<ContextCut>({ messages: count, wantedTokens: count })),
      }),
    ),
  }),
});

export const checkConversation: Check<Conversation> = object<Conversation>({
  id,
  title: text(MAX_TITLE),
  createdAt: amount,
  updatedAt: amount,
  turns: list(checkTurn, MAX_TURNS),
});
