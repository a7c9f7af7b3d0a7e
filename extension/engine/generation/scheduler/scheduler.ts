import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Executable } from '../../backend/backend';
import type { PagedCache } from '../../cache/paged';
import { EngineError } from '../../errors';
import type { Tokenizer } from '../../loading/tokenizer';
import { AnswerFactory } from '../answer';
import type { IdleWork } from '../idle_work';
import { isSaved } from '../saved/is_saved';
import type { SavedCache } from '../saved/saved_cache';
import type { DraftModel } from '../speculate/draft_model';
import type { GenerateRequest, GenerateResult } from '../types';
import { validateRequest } from '../validate';
import { MAX_WAITING, RECENT_MS, SLICE_MS } from './limits';
import { addDrafts } from './draft';
import { addModelDrafts } from './model_draft';
import { countFailure, countResult, newCounters, type SchedulerMetrics } from './metrics';
import { planStep, type Slice } from './plan';
import { Roster } from './roster';
import { Sequence } from './sequence';
import { StepRunner, type Drawable } from './step_runner';
import { PRIORITIES } from './urgency';

export interface SchedulerParts {
  readonly executable: Executable;
  readonly cache: PagedCache;
  readonly tokenizer: Tokenizer;
  /** End-of-sequence ids of the model. */
  readonly eosIds: readonly number[];
  readonly vocabSize: number;
  /** Most tokens in one step: the executable's maxTokens. */
  readonly prefillStep: number;
  /** Most sequences that draw a token in one step. Less than prefillStep. */
  readonly maxRows: number;
  /** The executable's maxLogitRows; default: maxRows. */
  readonly maxLogitRows?: number;
  /** Where conversations are kept beyond the life of the process; default: nowhere. */
  readonly saved?: SavedCache;
  /** Done while nothing runs, beside keeping conversations. */
  readonly idleWork?: IdleWork;
  /** Guesses tokens ahead; not for recurrent models. */
  readonly draftModel?: DraftModel;
  /** Told what is given up. */
  readonly warn?: (message: string) => void;
  /** Milliseconds; default: performance.now. */
  readonly now?: () => number;
}

/** Longest time without giving the event loop a turn, so that cancels and new requests can arrive. */
const TURN_MS = 5;

/**
 * Runs many requests over one model at once: each step decodes a token of every running sequence and prefills a part
 * of the next prompt (continuous batching, Yu et al. 2022; chunked prefill, Agrawal et al. 2023). More urgent
 * requests go first, at the next step at the latest; everything is recomputed without loss, since the n-th token of
 * an answer depends on its prompt, its seed and n alone.
 */
export class Scheduler {
  private readonly roster: Roster;
  private readonly answers: AnswerFactory;
  private readonly idleWorks: readonly IdleWork[];
  private readonly runner: StepRunner;
  private readonly counters = newCounters();
  private readonly now: () => number;
  /** Last arrival by rank. */
  private readonly lastArrival = PRIORITIES.map(() => -Infinity);
  private numArrivals = 0;
  /** The step that runs or whose tokens are being drawn; empty between steps. */
  private step: readonly Slice<Sequence>[] = [];
  private loop: Promise<void> | null = null;
  /** What waits for a moment without a step. */
  private errands: (() => void)[] = [];
  private closed: EngineError | null = null;
  private draftModel: DraftModel | null;
  private lastTurn = 0;

  constructor(private readonly parts: SchedulerParts) {
    const { cache, maxRows, prefillStep } = parts;
    if (maxRows < 1 || maxRows >= prefillStep) {
      throw new EngineError(
        'internal',
        `[scheduler] ${maxRows} rows in a step of ${prefillStep} tokens`,
      );
    }
    this.roster = new Roster(cache, maxRows);
    this.draftModel = parts.draftModel ?? null;
    this.idleWorks = [parts.saved, parts.idleWork].filter((work) => work !== undefined);
    parts.idleWork?.rest();
    this.answers = new AnswerFactory({ ...parts, contextLength: cache.contextLength });
    this.now = parts.now ?? (() => performance.now());
    this.runner = new StepRunner(parts.executable, cache, parts.vocabSize, this.now);
  }

  /**
   * Rejects with bad_request when the request could never run, unavailable when too many wait, cancelled when it is
   * aborted before it starts. A later abort resolves with what was generated so far.
   */
  async generate(request: GenerateRequest): Promise<GenerateResult> {
    const { vocabSize, cache } = this.parts;
    if (this.closed !== null) throw this.closed;
    validateRequest(request, { contextLength: cache.contextLength, vocabSize });
    const askedAt = this.now();
    if (this.parts.saved !== undefined && isSaved(request)) {
      await this.restore(this.parts.saved, request);
    }
    if (request.signal?.aborted === true) throw cancelled();
    const answer = this.answers.begin(request);
    const sequence = new Sequence(request, answer, this.numArrivals, askedAt);
    this.assertCanWait(sequence);
    this.numArrivals++;
    const onAbort = () => this.cancel(sequence, cancelled());
    request.signal?.addEventListener('abort', onAbort, { once: true });
    this.enqueue(sequence);
    try {
      const result = await sequence.outcome;
      countResult(this.counters, result);
      return result;
    } catch (error) {
      countFailure(this.counters, error);
      throw error;
    } finally {
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Ends what runs as cancelled, refuses what waits, and resolves when the executable is idle. */
  async close(): Promise<void> {
    const reason = new EngineError('unavailable', 'the engine is shutting down');
    this.closed ??= reason;
    const { waiting, running } = this.roster;
    for (const sequence of [...waiting, ...running]) this.cancel(sequence, reason);
    await this.loop;
    await Promise.all(this.idleWorks.map((work) => work.close()));
  }

  /** Counts for /metrics: totals since the start, and the present state. */
  metrics(): SchedulerMetrics {
    const { cache } = this.parts;
    return {
      ...this.counters,
      running: this.roster.running.size,
      waiting: this.roster.waiting.size,
      preemptions: this.roster.numPreempted,
      blocks: cache.numBlocks,
      freeBlocks: cache.numFree,
      cachedBlocks: cache.numIdle,
      evictedBlocks: cache.numEvictions,
    };
  }

  /** Throws 'internal' when a block or a sequence is not where it belongs. Any time; takes as long as a few steps. */
  checkIntegrity(): void {
    this.roster.checkIntegrity();
    this.draftModel?.checkIntegrity();
  }

  /** Writes nothing to disk of the texts so far that is not there yet. */
  async forgetUnwritten(): Promise<void> {
    await this.parts.saved?.forgetUnwritten();
  }

  /** Brings back what was kept of the prompt. */
  private async restore(saved: SavedCache, { ids, signal }: GenerateRequest): Promise<void> {
    await saved.restore(ids, (task) => this.betweenSteps(task), signal);
    if (this.closed !== null) throw this.closed;
  }

  /** Runs a task when no step runs; rejects when the scheduler closes before. */
  private betweenSteps<T>(task: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const errand = () => {
        try {
          if (this.closed !== null) throw this.closed;
          resolve(task());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      if (this.loop === null) errand();
      else this.errands.push(errand);
    });
  }

  private runErrands(): void {
    for (const errand of this.errands.splice(0)) errand();
  }

  private assertCanWait({ priority, rank }: Sequence): void {
    const most = MAX_WAITING[priority];
    if (this.roster.numWaiting(rank) < most) return;
    throw new EngineError(
      'unavailable',
      `${most} requests of priority ${priority} wait already; try again when some of them have ended`,
    );
  }

  private enqueue(sequence: Sequence): void {
    const { rank } = sequence;
    const now = this.now();
    this.lastArrival[rank] = now;
    this.roster.waiting.add(sequence);
    this.counters.requests++;
    if (this.runner.remainingMs > SLICE_MS) this.interruptFor(rank);
    for (const work of this.idleWorks) work.wake();
    this.loop ??= this.run();
  }

  /**
   * Gives up a long step of less urgent sequences; they do it again in slices, beside the new request. However often
   * that happens, they go on as guests of more urgent steps.
   */
  private interruptFor(rank: number): void {
    // Recurrent states would be lost with the step, and with them all of the prompt before it.
    if (this.parts.cache.isRecurrent) return;
    if (!this.step.every((slice) => slice.sequence.rank > rank)) return;
    this.counters.interruptedSteps++;
    this.runner.cancel();
  }

  /** Ends a sequence now, or after the step that it is part of. `reason`: why it will never have started. */
  private cancel(sequence: Sequence, reason: EngineError): void {
    if (sequence.isSettled) return;
    sequence.isCancelled = true;
    if (!sequence.hasStarted) this.fail(sequence, reason);
    else if (!this.step.some((slice) => slice.sequence === sequence)) this.finish(sequence);
    else if (this.step.every((slice) => slice.sequence.isCancelled)) this.runner.cancel();
  }

  private async run(): Promise<void> {
    // Requests of the same turn start together.
    await Promise.resolve();
    const { waiting, running } = this.roster;
    try {
      while (waiting.size + running.size > 0) {
        await this.takeTurn();
        this.runErrands();
        this.roster.admit(this.now());
        const plan = this.plan();
        if (plan.length === 0 && running.size > 0) {
          throw new EngineError(
            'internal',
            `[scheduler] ${running.size} sequences, none can go on`,
          );
        }
        const slices = this.roster.reserve(await this.drafted(plan));
        if (slices.length > 0) await this.runStep(slices);
      }
    } catch (error) {
      // Not a failed step but a mistake of ours: nobody may be left waiting for ever.
      for (const sequence of [...waiting, ...running]) this.fail(sequence, error);
    } finally {
      this.loop = null;
      this.runErrands();
      for (const work of this.idleWorks) work.rest();
    }
  }

  private async takeTurn(): Promise<void> {
    if (this.now() - this.lastTurn < TURN_MS) return;
    await nextTurn();
    this.lastTurn = this.now();
  }

  private plan(): Slice<Sequence>[] {
    const now = this.now();
    const { prefillStep: maxTokens, maxRows } = this.parts;
    return planStep(this.roster.running, {
      cost: this.runner.cost,
      now,
      maxTokens,
      maxRows,
      isOvertakenLately: (rank) =>
        this.lastArrival.slice(0, rank).some((time) => now - time < RECENT_MS),
    });
  }

  private async drafted(plan: readonly Slice<Sequence>[]): Promise<readonly Slice<Sequence>[]> {
    const { cache, prefillStep: maxTokens, maxRows, maxLogitRows = maxRows } = this.parts;
    if (plan.length === 0) return plan;
    const limits = { cost: this.runner.cost, cache, maxTokens, maxRows, maxLogitRows };
    const slices = addDrafts(plan, limits);
    const { draftModel } = this;
    if (draftModel === null) return slices;
    try {
      const isOver = () => this.closed !== null || this.roster.waiting.size > 0;
      return await addModelDrafts(slices, draftModel, limits, isOver);
    } catch (error) {
      // Answers do not need it.
      this.draftModel = null;
      const why = error instanceof Error ? error.message : String(error);
      this.parts.warn?.(`the draft model guesses no more until the model is loaded again: ${why}`);
      return slices;
    }
  }

  private async runStep(slices: readonly Slice<Sequence>[]): Promise<void> {
    this.step = slices;
    const sequences = slices.map((slice) => slice.sequence);
    try {
      const drawable = await this.runner.run(slices);
      if (drawable !== null) {
        this.counters.steps++;
        this.counters.computedTokens += slices.reduce((n, s) => n + s.count + s.draft.length, 0);
        for (const item of drawable) this.draw(item);
        for (const { sequence } of slices) {
          if (!sequence.isDrawn && sequence.numPending === 0) this.finish(sequence);
        }
      }
    } catch (error) {
      for (const sequence of sequences) if (!sequence.isCancelled) this.fail(sequence, error);
    }
    this.step = [];
    for (const sequence of sequences) if (sequence.isCancelled) this.finish(sequence);
  }

  private draw(drawable: Drawable): void {
    const { sequence } = drawable;
    try {
      if (!this.drawAll(drawable)) this.finish(sequence);
    } catch (error) {
      // The caller's onText threw, or no token can follow.
      this.fail(sequence, error);
    }
  }

  /**
   * Draws the next token, and goes on for as long as it is the drafted one. The n-th token of an answer has a random
   * number of its own, so the answer is the same as without a draft. False when the answer has come to its end.
   */
  private drawAll({ sequence, draft, rows, guesser }: Drawable): boolean {
    const isGuessed = sequence.forcedNext(1).length === 0;
    let accepted = 0;
    let wantsMore = true;
    try {
      for (const row of rows) {
        if (sequence.isCancelled) break;
        wantsMore = sequence.draw(row, this.now());
        const isRight = accepted < draft.length && sequence.tokens.at(-1) === draft[accepted];
        if (!wantsMore || !isRight) break;
        accepted++;
      }
    } finally {
      this.runner.keep(sequence, draft, accepted);
    }
    if (isGuessed) {
      this.counters.draftedTokens += draft.length;
      this.counters.acceptedTokens += accepted;
      (guesser ?? sequence.acceptance).observe(draft.length, accepted);
    }
    return wantsMore;
  }

  private finish(sequence: Sequence): void {
    if (sequence.isSettled) return;
    if (sequence.isSaved) this.parts.saved?.offer(sequence.tokens);
    this.remove(sequence);
    sequence.finish(this.now());
  }

  private fail(sequence: Sequence, error: unknown): void {
    if (sequence.isSettled) return;
    this.remove(sequence);
    sequence.reject(error);
  }

  private remove(sequence: Sequence): void {
    this.roster.remove(sequence);
    this.draftModel?.release(sequence);
  }
}

function cancelled(): EngineError {
  return new EngineError('cancelled', 'the request was cancelled');
}
