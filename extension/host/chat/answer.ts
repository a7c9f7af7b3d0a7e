import * as l10n from '@vscode/l10n';
import type { ChatPart, ChatResult, ContextCut } from '../../protocol/chat';
import { MAX_PROBLEM, type AssistantTurn, type TurnStats } from '../../protocol/conversation';
import { number } from '../../protocol/numbers';
import { shorten } from './turns';

/** An answer as it is written: takes the engine's parts, gives turns to show. */
export class AnswerInProgress {
  private thinkingSince: number | null = null;
  private prompt: Extract<ChatPart, { kind: 'prompt' }> | null = null;

  constructor(
    private turn: AssistantTurn,
    private readonly now: () => number,
  ) {}

  get current(): AssistantTurn {
    return this.turn;
  }

  /** @returns true when the part changed more than the end of text or thoughts */
  take(part: ChatPart): boolean {
    switch (part.kind) {
      case 'prompt':
        this.prompt = part;
        this.turn = { ...this.turn, problem: cutNote(part.cut) };
        return true;
      case 'reasoning': {
        const isFirst = this.thinkingSince === null;
        this.thinkingSince ??= this.now();
        this.turn = {
          ...this.turn,
          state: 'streaming',
          reasoning: this.turn.reasoning + part.text,
        };
        return isFirst;
      }
      case 'text': {
        const isFirst = this.turn.text === '';
        this.turn = { ...this.thought(), state: 'streaming', text: this.turn.text + part.text };
        return isFirst;
      }
      case 'toolCall':
        return false;
    }
  }

  finish(result: ChatResult, model: string): AssistantTurn {
    const { usage, timings } = result;
    const stats: TurnStats = {
      ...usage,
      contextLength: this.prompt?.contextLength ?? 0,
      decodeMs: timings.decodeMs,
      totalMs: timings.totalMs,
      cut: this.prompt?.cut ?? null,
    };
    const state = result.finish === 'cancelled' ? 'stopped' : 'done';
    const isEmpty = state === 'done' && this.turn.text.trim() === '';
    const notes = [this.turn.problem, endNote(result), isEmpty ? nothingSaid() : ''].filter(
      (note) => note !== '',
    );
    this.turn = { ...this.thought(), state, model, stats, problem: notes.join(' ') };
    return this.turn;
  }

  fail(message: string): AssistantTurn {
    this.turn = { ...this.thought(), state: 'failed', problem: shorten(message, MAX_PROBLEM) };
    return this.turn;
  }

  private thought(): AssistantTurn {
    if (this.thinkingSince === null || this.turn.reasoningMs !== null) return this.turn;
    return { ...this.turn, reasoningMs: Math.max(0, this.now() - this.thinkingSince) };
  }
}

export function cutNote(cut: ContextCut | null): string {
  if (cut === null) return '';
  const { messages } = cut;
  const tokens = number(cut.wantedTokens);
  return messages === 1
    ? l10n.t(
        'The oldest message was left out: the whole conversation has {tokens} tokens, more than the model’s context holds.',
        { tokens },
      )
    : l10n.t(
        'The oldest {messages} messages were left out: the whole conversation has {tokens} tokens, more than the model’s context holds.',
        { messages, tokens },
      );
}

function nothingSaid(): string {
  return l10n.t('The model ended without an answer.');
}

/** Why the answer may not be whole; '' when it is. */
export function endNote({ finish, usage }: ChatResult): string {
  return finish === 'length'
    ? l10n.t('The answer ends at {tokens} tokens, its limit or the end of the context.', {
        tokens: number(usage.generatedTokens),
      })
    : '';
}
