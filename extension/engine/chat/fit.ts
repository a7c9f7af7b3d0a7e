import type { ChatMessage, ContextCut } from '../../protocol/chat';
import { EngineError } from '../errors';

/** `Prompt`: the tokens, or as much of them as a model elsewhere lets one know. */
export interface Fitted<Prompt> {
  readonly prompt: Prompt;
  /** What the prompt is of: all messages, or those that are left. */
  readonly messages: readonly ChatMessage[];
  readonly cut: ContextCut | null;
}

export interface Fit<Prompt> {
  /** Tokens that the prompt may have. */
  readonly room: number;
  /** The prompt of a list of messages. */
  readonly encode: (messages: readonly ChatMessage[]) => Prompt;
  /** About the tokens of one message; the same whatever stands around it. */
  readonly sizeOf: (message: ChatMessage) => number;
  /** Tools that every prompt describes. */
  readonly tools: number;
}

/** What a chat template writes around a message, about. */
export const TOKENS_AROUND = 8;
/** Room that an answer has in any case, as a share of the context, when a request wants as much. */
const ANSWER_SHARE = 1 / 4;
/** Of the room beside the question, what the turns before it take after a cut. */
const KEPT_SHARE = 1 / 2;

/** Tokens that the prompt may have. */
export function promptRoom(contextLength: number, maxTokens: number): number {
  return contextLength - Math.min(maxTokens, Math.floor(contextLength * ANSWER_SHARE));
}

/**
 * The conversation as tokens, at most `room`: the oldest turns are left out until it fits, whole turns from a user's
 * message to the next, never a system message and never the last turn. Throws bad_request when that turn alone is
 * too long.
 *
 * A cut goes down to half of the room. Cut to the brim, the conversation would begin elsewhere with every question,
 * and each would have to be read whole again; so it begins at the same place for many questions, and what the cache
 * holds of it is used.
 */
export function fitMessages<Prompt extends { readonly length: number }>(
  messages: readonly ChatMessage[],
  { room, encode, sizeOf, tools }: Fit<Prompt>,
): Fitted<Prompt> {
  const all = encode(messages);
  if (all.length <= room) return { prompt: all, messages, cut: null };
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system';
  const system = messages.filter(isSystem);
  const talk = messages.filter((message) => !isSystem(message));
  const turns = turnsOf(talk);
  const last = [...system, ...(turns.at(-1) ?? [])];
  const shortest = encode(last);
  if (shortest.length > room) {
    const ofMessages = sum(last.map(sizeOf));
    throw tooLong(shortest.length, room, tools, Math.max(0, shortest.length - ofMessages));
  }
  const sizes = turns.map((turn) => ({
    question: sum(turn.filter(({ role }) => role === 'user').map(sizeOf)),
    whole: sum(turn.map(sizeOf)),
  }));
  // Instructions and tools, which every prompt has.
  const fixed = shortest.length - (sizes.at(-1)?.whole ?? 0);
  const lastTurn = turns.length - 1;
  const cutTo = (from: number) => ({
    messages: turns.slice(0, from).flat().length,
    wantedTokens: all.length,
  });
  for (let from = steadyStart(sizes, room - fixed); from < lastTurn; from++) {
    const left = [...system, ...turns.slice(from).flat()];
    const prompt = encode(left);
    if (prompt.length > room) continue; // the sizes are estimates
    return { prompt, messages: left, cut: cutTo(from) };
  }
  return { prompt: shortest, messages: last, cut: cutTo(lastTurn) };
}

/**
 * The turn that the conversation begins with: that of the last question, unless there is no room for it any more, and
 * so on from the first. Nothing is remembered, and the same messages begin at the same turn whatever follows them.
 */
function steadyStart(
  sizes: readonly { readonly question: number; readonly whole: number }[],
  room: number,
): number {
  let start = 0;
  let used = 0;
  for (const [index, { question, whole }] of sizes.entries()) {
    const isLast = index === sizes.length - 1;
    const wanted = isLast ? whole : question;
    if (used + wanted > room) {
      const kept = (room - wanted) * KEPT_SHARE;
      while (start < index && used > kept) used -= sizes[start++]?.whole ?? 0;
    }
    used += whole;
  }
  return Math.max(start, 1);
}

/** Each begins at a message of the user that does not follow another one. */
function turnsOf(messages: readonly ChatMessage[]): ChatMessage[][] {
  const turns: ChatMessage[][] = [];
  for (const [index, message] of messages.entries()) {
    const begins = message.role === 'user' && messages[index - 1]?.role !== 'user';
    const turn = turns.at(-1);
    if (turn === undefined || begins) turns.push([message]);
    else turn.push(message);
  }
  return turns;
}

/** What no cut leaves out but instructions. */
export function lastTurn(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return turnsOf(messages.filter(({ role }) => role !== 'system')).at(-1) ?? [];
}

/** What of a message a prompt shows. */
export function textOf(message: ChatMessage): string {
  const calls = message.role === 'assistant' && message.toolCalls.length > 0;
  return calls ? message.content + JSON.stringify(message.toolCalls) : message.content;
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** `toolTokens`: about what the tools take of all. */
export function tooLong(
  tokens: number,
  room: number,
  tools: number,
  toolTokens: number,
): EngineError {
  const ofTools = tools === 0 ? '' : `, about ${toolTokens} of them for ${tools} tools`;
  const remedy = tools === 0 ? 'attach less' : 'attach less, choose fewer tools';
  const enough = Math.ceil(tokens / (1 - ANSWER_SHARE) / 1024) * 1024;
  return new EngineError(
    'bad_request',
    `the last question with its attachments has ${tokens} tokens${ofTools}, and ${room} fit beside an answer: ` +
      `${remedy}, or raise the context length of the chat model (anllm.chat.contextLength) to at least ${enough}`,
  );
}
