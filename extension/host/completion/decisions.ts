import type { CompletionResult, EmptyReason } from '../../protocol/completion';
import { assertNever } from '../../protocol/errors';
import type { SkipReason } from './trigger';

/** Why nothing is shown. */
export type NothingReason = SkipReason | EmptyReason | 'superseded' | 'engine';

export type Outcome =
  | { readonly kind: 'shown'; readonly text: string; readonly from: 'engine' | 'cache' | 'running' }
  | { readonly kind: 'nothing'; readonly reason: NothingReason; readonly detail?: string };

/** One time that the editor asked, and what came of it. */
export interface Decision {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly path: string;
  /** From 1, as the editor shows them. */
  readonly line: number;
  readonly column: number;
  readonly invoked: boolean;
  readonly outcome: Outcome;
  /** From the editor's question to the answer. */
  readonly elapsedMs: number;
  readonly waitedMs: number;
  /** Of the request to the engine, when there was one. */
  readonly result: CompletionResult | null;
}

const KEPT = 50;

/** The last decisions, newest first. */
export class DecisionLog {
  private entries: Decision[] = [];

  add(decision: Decision): void {
    this.entries = [decision, ...this.entries].slice(0, KEPT);
  }

  get all(): readonly Decision[] {
    return this.entries;
  }
}

/** A sentence for people that says why and, where something can be done, what. */
export function explain(reason: NothingReason, detail = ''): string {
  switch (reason) {
    case 'disabled':
      return 'Completions are disabled. Run "anllm: Enable Completions".';
    case 'language_disabled':
      return 'Completions are disabled for this language. Run "anllm: Toggle Completions for This Language".';
    case 'snoozed':
      return 'Completions are snoozed. Run "anllm: Snooze Completions" to end it.';
    case 'scheme':
      return 'Completions are offered in files, untitled documents and notebooks only.';
    case 'several_cursors':
      return 'There is more than one cursor.';
    case 'selection':
      return 'Text is selected.';
    case 'inside_word':
      return 'The cursor is inside a word. Run "anllm: Trigger Completion" to ask anyway.';
    case 'superseded':
      return 'Something else was typed, or the cursor moved, before the answer came.';
    case 'engine':
      return `The engine could not answer: ${detail}`;
    case 'model_silent':
      return 'The model has nothing to add here.';
    case 'repeats_suffix':
      return 'The model only repeated what stands after the cursor.';
    case 'repeats_itself':
      return 'The model only repeated itself.';
    case 'unbalanced':
      return 'The model began with a bracket that nothing opens.';
    case 'cut_off':
      return 'The line was longer than anllm.completion.maxTokens allows.';
    case 'cancelled':
      return 'The request was cancelled.';
    default:
      return assertNever(reason);
  }
}

/** One line for the log. */
export function describe({ path, line, column, outcome, elapsedMs }: Decision): string {
  const what =
    outcome.kind === 'shown' ? `shown, from the ${outcome.from}` : `nothing: ${outcome.reason}`;
  return `${path}:${line}:${column} ${what} (${elapsedMs.toFixed(0)} ms)`;
}

/** The log as Markdown, for a read-only document. */
export function renderDecisions(decisions: readonly Decision[]): string {
  const [last] = decisions;
  const head = '# Why no suggestion?\n\n';
  if (!last) return `${head}No suggestion was asked for yet in this window.\n`;
  const answer =
    last.outcome.kind === 'shown'
      ? 'The last time, a suggestion was shown.'
      : explain(last.outcome.reason, last.outcome.detail);
  const rows = decisions.map(row).join('\n');
  return (
    `${head}${answer}\n\nThe last ${decisions.length} times, newest first:\n\n` +
    '| Time | Place | Result | Took | Prompt (cached) | Queue + prompt + text |\n' +
    '|---|---|---|---|---|---|\n' +
    `${rows}\n`
  );
}

function row(decision: Decision): string {
  const { outcome, result } = decision;
  const time = new Date(decision.at).toTimeString().slice(0, 8);
  const place = `${decision.path}:${decision.line}:${decision.column}${decision.invoked ? ' (asked)' : ''}`;
  const took = `${decision.elapsedMs.toFixed(0)} ms, of which waited ${decision.waitedMs.toFixed(0)}`;
  const prompt = result ? `${result.promptTokens} (${result.cachedTokens})` : '';
  const parts = result
    ? [result.timings.queueMs, result.timings.prefillMs, result.timings.decodeMs]
        .map((ms) => ms.toFixed(0))
        .join(' + ') + ' ms'
    : '';
  const shown =
    outcome.kind === 'shown'
      ? `shown, from the ${outcome.from}: \`${outcome.text.split(/\r?\n/).find(Boolean)?.replaceAll(/[`|]/g, "'") ?? ''}\``
      : explain(outcome.reason, outcome.detail);
  return `| ${[time, place, shown, took, prompt, parts].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
