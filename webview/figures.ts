/** Figures as people read them. */
import * as l10n from '@vscode/l10n';
import type { ContextCut } from '../extension/protocol/chat';
import type {
  AssistantTurn,
  Attachment,
  Turn,
  TurnStats,
} from '../extension/protocol/conversation';
import { date, number } from '../extension/protocol/numbers';

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
  const isFull = usedTokens > contextLength;
  if (cut === null && !isFull) return l10n.t('Nothing was left out.');
  const lines = cut === null ? [] : wasCut(cut, contextLength);
  if (isFull) {
    lines.push(l10n.t('The next question does not fit: the oldest messages will be left out.'));
  }
  lines.push(l10n.t('A new chat, or a larger anllm.chat.contextLength, makes room.'));
  return lines.join(' ');
}

function wasCut({ messages, wantedTokens }: ContextCut, contextLength: number): string[] {
  const args = { messages, wanted: thousands(wantedTokens), length: thousands(contextLength) };
  return [
    messages === 1
      ? l10n.t(
          'The oldest message was left out of the last question: with it the question has {wanted} tokens, and the context holds {length} with the answer.',
          args,
        )
      : l10n.t(
          'The oldest {messages} messages were left out of the last question: with them it has {wanted} tokens, and the context holds {length} with the answer.',
          args,
        ),
    l10n.t(
      'The model sees the rest, from the same beginning for many questions, so that it need not be read again.',
    ),
  ];
}

function isAnswered(turn: Turn): boolean {
  return turn.role === 'assistant' && turn.stats !== null;
}

/** `135 tokens · 42 tokens/s · 3.4 s`. */
export function statsLine({ generatedTokens, decodeMs, totalMs }: TurnStats): string {
  // The first token comes with the prefill.
  const perSecond = decodeMs > 0 ? ((generatedTokens - 1) / decodeMs) * 1000 : 0;
  const speed =
    perSecond > 0 ? [l10n.t('{0} tokens/s', number(perSecond, perSecond < 10 ? 1 : 0))] : [];
  const tokens =
    generatedTokens === 1 ? l10n.t('1 token') : l10n.t('{0} tokens', number(generatedTokens));
  return [tokens, ...speed, seconds(totalMs)].join(' · ');
}

export function seconds(ms: number): string {
  const value = ms / 1000;
  if (value >= 60) {
    return l10n.t({
      message: '{0} min {1} s',
      args: [Math.floor(value / 60), Math.round(value % 60)],
      comment: 'minutes and seconds',
    });
  }
  return l10n.t({
    message: '{0} s',
    args: [number(value, value < 10 ? 1 : 0)],
    comment: 'seconds',
  });
}

export function thousands(count: number): string {
  if (count < 1000) return number(count);
  return l10n.t({ message: '{0}k', args: [number(count / 1000, 1)], comment: 'thousands' });
}

export function ago(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return l10n.t('just now');
  if (minutes < 60) return l10n.t('{0} min ago', minutes);
  if (minutes < 24 * 60) return l10n.t('{0} h ago', Math.floor(minutes / 60));
  return date(then);
}
