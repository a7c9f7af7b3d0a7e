/** Numbers as people read them. */
import type { ContextCut } from '../extension/protocol/chat';
import type {
  AssistantTurn,
  Attachment,
  Turn,
  TurnStats,
} from '../extension/protocol/conversation';

/** Characters that a token of code or English has, about. */
const CHARS_PER_TOKEN = 3.6;

export interface ContextUse {
  readonly usedTokens: number;
  readonly conversationTokens: number;
  readonly attachedTokens: number;
  readonly typedTokens: number;
  readonly contextLength: number;
  /** Of the last question. */
  readonly cut: ContextCut | null;
}

/**
 * What the next request will take of the context: what the last one had, its answer, and an estimate of what is
 * typed and attached. Null while the length of the context is not known.
 */
export function contextUse(
  turns: readonly Turn[],
  attachments: readonly Attachment[],
  typed: string,
  contextLength: number,
): ContextUse | null {
  const last = turns.findLast((turn): turn is AssistantTurn => isAnswered(turn));
  const stats = last?.stats ?? null;
  const length = contextLength || (stats?.contextLength ?? 0);
  if (length === 0) return null;
  const attachedTokens = estimate(attachments.reduce((sum, { text }) => sum + text.length, 0));
  const typedTokens = estimate(typed.length);
  const conversationTokens = stats === null ? 0 : stats.promptTokens + stats.generatedTokens;
  return {
    usedTokens: conversationTokens + attachedTokens + typedTokens,
    conversationTokens,
    attachedTokens,
    typedTokens,
    contextLength: length,
    cut: stats?.cut ?? null,
  };
}

const estimate = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

/** What was left out of the last question and why, and what will be. */
export function cutLine({ cut, usedTokens, contextLength }: ContextUse): string {
  const lines: string[] = [];
  if (cut !== null) {
    const messages = cut.messages === 1 ? 'message was' : `${cut.messages} messages were`;
    lines.push(
      `The oldest ${messages} left out of the last question: with them it has ${thousands(cut.wantedTokens)} tokens, ` +
        `and the context holds ${thousands(contextLength)} with the answer. The model sees the rest, ` +
        'from the same beginning for many questions, so that it need not be read again.',
    );
  }
  if (usedTokens > contextLength) {
    lines.push('The next question does not fit: the oldest messages will be left out.');
  } else if (cut === null) {
    lines.push('Nothing was left out.');
  }
  if (lines[0] !== 'Nothing was left out.') {
    lines.push('A new chat, or a larger anllm.chat.contextLength, makes room.');
  }
  return lines.join(' ');
}

function isAnswered(turn: Turn): boolean {
  return turn.role === 'assistant' && turn.stats !== null;
}

/** `135 tokens · 42 tokens/s · 3.4 s`. */
export function statsLine({ generatedTokens, decodeMs, totalMs }: TurnStats): string {
  // The first token comes with the prefill.
  const perSecond = decodeMs > 0 ? ((generatedTokens - 1) / decodeMs) * 1000 : 0;
  const speed = perSecond > 0 ? [`${perSecond.toFixed(perSecond < 10 ? 1 : 0)} tokens/s`] : [];
  const tokens = generatedTokens === 1 ? '1 token' : `${generatedTokens} tokens`;
  return [tokens, ...speed, seconds(totalMs)].join(' · ');
}

export function seconds(ms: number): string {
  const value = ms / 1000;
  if (value >= 60) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return `${value.toFixed(value < 10 ? 1 : 0)} s`;
}

export function thousands(count: number): string {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(1)}k`;
}

export function ago(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(then).toISOString().slice(0, 10);
}
