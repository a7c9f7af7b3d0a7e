import * as l10n from '@vscode/l10n';
import type { CompletionResult, EmptyReason } from '../../protocol/completion';
import { assertNever } from '../../protocol/errors';
import { number } from '../../protocol/numbers';
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
      return l10n.t('Completions are disabled. Run "anllm: Enable Completions".');
    case 'language_disabled':
      return l10n.t(
        'Completions are disabled for this language. Run "anllm: Toggle Completions for This Language".',
      );
    case 'snoozed':
      return l10n.t('Completions are snoozed. Run "anllm: Snooze Completions" to end it.');
    case 'scheme':
      return l10n.t('Completions are offered in files, untitled documents and notebooks only.');
    case 'secret_file':
      return l10n.t(
        'The name of this file says that it holds secrets: its text is not sent to the server of anllm.remote.url.',
      );
    case 'several_cursors':
      return l10n.t('There is more than one cursor.');
    case 'selection':
      return l10n.t('Text is selected.');
    case 'inside_word':
      return l10n.t('The cursor is inside a word. Run "anllm: Trigger Completion" to ask anyway.');
    case 'superseded':
      return l10n.t('Something else was typed, or the cursor moved, before the answer came.');
    case 'engine':
      return l10n.t('The engine could not answer: {detail}', { detail });
    case 'model_silent':
      return l10n.t('The model has nothing to add here.');
    case 'repeats_suffix':
      return l10n.t('The model only repeated what stands after the cursor.');
    case 'repeats_itself':
      return l10n.t('The model only repeated itself.');
    case 'unbalanced':
      return l10n.t('The model began with a bracket that nothing opens.');
    case 'cut_off':
      return l10n.t('The line was longer than anllm.completion.maxTokens allows.');
    case 'cancelled':
      return l10n.t('The request was cancelled.');
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
  const head = `# ${l10n.t('Why no suggestion?')}\n\n`;
  if (!last) return `${head}${l10n.t('No suggestion was asked for yet in this window.')}\n`;
  const answer =
    last.outcome.kind === 'shown'
      ? l10n.t('The last time, a suggestion was shown.')
      : explain(last.outcome.reason, last.outcome.detail);
  const rows = decisions.map((decision) => tableLine(row(decision))).join('');
  const count = decisions.length;
  const caption =
    count === 1
      ? l10n.t('The only time so far:')
      : l10n.t('The last {count} times, newest first:', { count });
  const table = `${tableLine(titles())}|---|---|---|---|---|---|\n${rows}`;
  return `${head}${answer}\n\n${caption}\n\n${table}`;
}

function titles(): string[] {
  return [
    l10n.t({ message: 'Time', comment: 'of the day' }),
    l10n.t({ message: 'Place', comment: 'in a file' }),
    l10n.t('Result'),
    l10n.t({ message: 'Took', comment: 'milliseconds' }),
    l10n.t({ message: 'Prompt (cached)', comment: 'numbers of tokens' }),
    l10n.t({ message: 'Queue + prompt + text', comment: 'milliseconds spent on each' }),
  ];
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}

function row(decision: Decision): string[] {
  const { outcome, result } = decision;
  const time = new Date(decision.at).toTimeString().slice(0, 8);
  const where = `${decision.path}:${decision.line}:${decision.column}`;
  const place = decision.invoked
    ? l10n.t({ message: '{0} (asked)', args: [where], comment: 'a place where the user asked' })
    : where;
  const took = l10n.t('{elapsed} ms, of which waited {waited}', {
    elapsed: number(decision.elapsedMs),
    waited: number(decision.waitedMs),
  });
  const prompt = result ? `${result.promptTokens} (${result.cachedTokens})` : '';
  const parts = result ? l10n.t('{queue} + {prompt} + {text} ms', timesOf(result)) : '';
  const shown =
    outcome.kind === 'shown' ? whatWasShown(outcome) : explain(outcome.reason, outcome.detail);
  return [time, place, shown, took, prompt, parts];
}

function timesOf({ timings }: CompletionResult): Record<'queue' | 'prompt' | 'text', string> {
  return {
    queue: number(timings.queueMs),
    prompt: number(timings.prefillMs),
    text: number(timings.decodeMs),
  };
}

function whatWasShown({ text, from }: Extract<Outcome, { kind: 'shown' }>): string {
  const line = text.split(/\r?\n/).find(Boolean) ?? '';
  const code = `\`${line.replaceAll(/[`|]/g, "'")}\``;
  switch (from) {
    case 'engine':
      return l10n.t('shown, from the engine: {code}', { code });
    case 'cache':
      return l10n.t('shown, from the cache: {code}', { code });
    case 'running':
      return l10n.t('shown, from the running request: {code}', { code });
    default:
      return assertNever(from);
  }
}
