import type { Draw } from '../../backend/backend';
import type { BlockTable } from '../../cache/block_table';
import type { Answer } from '../answer';
import { Acceptance } from '../speculate/acceptance';
import type { Guessed } from '../speculate/draft_model';
import { isSaved } from '../saved/is_saved';
import { PromptLookup } from '../speculate/prompt_lookup';
import type { GenerateRequest, GenerateResult, Priority } from '../types';
import type { Plannable } from './plan';
import { PRIORITIES } from './urgency';

/** One request on its way: its answer so far, the blocks it holds while it runs, and its one outcome. */
export class Sequence implements Plannable, Guessed {
  readonly priority: Priority;
  readonly rank: number;
  readonly outcome: Promise<GenerateResult>;
  /** Null while it waits. */
  table: BlockTable | null = null;
  lastRunAt = 0;
  /** Asked to end; it leaves at the end of the step that it takes part in. */
  isCancelled = false;
  isSettled = false;
  readonly acceptance = new Acceptance();
  private readonly lookup = new PromptLookup();
  private startedAt: number | null = null;
  private decodesSince: number | null = null;
  private cachedTokens = 0;
  private resolve: (result: GenerateResult) => void = () => {};
  private rejectOutcome: (error: unknown) => void = () => {};

  constructor(
    readonly request: GenerateRequest,
    readonly answer: Answer,
    readonly arrival: number,
    private readonly askedAt: number,
  ) {
    this.priority = request.priority ?? 'completion';
    this.rank = PRIORITIES.indexOf(this.priority);
    this.outcome = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.rejectOutcome = reject;
    });
  }

  /** Prompt and answer so far. */
  get tokens(): readonly number[] {
    return this.answer.tokens;
  }

  get numPending(): number {
    return this.tokens.length - (this.table?.length ?? 0);
  }

  /** A step ends where the state is to be kept. */
  get reach(): number {
    const { table } = this;
    return table === null ? Infinity : table.stops.next(table.length) - table.length;
  }

  /** Whether a token is drawn when all pending ones have been run. */
  get isDrawn(): boolean {
    return this.request.hidden === undefined;
  }

  /** Whether it may begin with what other requests have computed. */
  get canShare(): boolean {
    return this.request.hidden?.needsAll !== true;
  }

  get isSaved(): boolean {
    return isSaved(this.request);
  }

  get hasStarted(): boolean {
    return this.startedAt !== null;
  }

  /** Takes its place among the running ones, for the first time or after an eviction. */
  start(table: BlockTable, now: number): void {
    this.table = table;
    this.lastRunAt = now;
    this.startedAt ??= now;
  }

  /** Counts prompt tokens that cost nothing; those of an evicted sequence's second start were paid before. */
  countCached(tokens: number): void {
    if (this.decodesSince === null) this.cachedTokens += tokens;
  }

  /** Tokens that will follow whatever the model thinks, at most `most`; they are scored like drafts. */
  forcedNext(most: number): readonly number[] {
    return this.answer.forcedNext(Math.min(most, this.answer.room - 1));
  }

  /** Most tokens that can still be drawn. */
  get room(): number {
    return this.answer.room;
  }

  /** Whether tokens may be guessed ahead. */
  get canGuess(): boolean {
    return this.request.drafts !== false && this.isDrawn && this.answer.canGuess;
  }

  /** As of `Answer`. A grammar that cannot go on here says so when the token is drawn, to its own request alone. */
  drawAfter(ahead: readonly number[]): Draw | null {
    try {
      return this.answer.drawAfter(ahead);
    } catch {
      return null;
    }
  }

  guess(logits: Float32Array | number, ahead: readonly number[]): number {
    return this.answer.guess(logits, ahead);
  }

  /** Tokens that may follow, at most `most`, and no more than the answer has room for. */
  propose(most: number): readonly number[] {
    if (this.request.drafts === false || !this.isDrawn) return [];
    // The last token is drawn, but not run.
    return this.lookup.propose(this.tokens, Math.min(most, this.answer.room - 1));
  }

  /** The last pending token has been run, the next one is drawn. */
  draw(row: Float32Array | number, now: number): boolean {
    this.decodesSince ??= now;
    return this.answer.draw(row);
  }

  /** Resolves with what there is. */
  finish(now: number): void {
    this.isSettled = true;
    const { answer, request, startedAt, askedAt } = this;
    const started = startedAt ?? now;
    const decodesSince = this.decodesSince ?? now;
    try {
      answer.finish();
    } catch (error) {
      this.rejectOutcome(error);
      return;
    }
    this.resolve({
      text: answer.text,
      ids: answer.ids,
      finishReason: this.isCancelled ? 'cancelled' : answer.finishReason,
      promptTokens: request.ids.length,
      cachedTokens: this.cachedTokens,
      ...(answer.stopString === null ? {} : { stopString: answer.stopString }),
      ...(request.logprobs === undefined ? {} : { logprobs: answer.logprobs }),
      timings: {
        queueMs: started - askedAt,
        prefillMs: decodesSince - started,
        decodeMs: now - decodesSince,
      },
    });
  }

  reject(error: unknown): void {
    this.isSettled = true;
    this.rejectOutcome(error);
  }
}
