import type {
  CompletionPartial,
  CompletionRequest,
  CompletionResult,
} from '../../protocol/completion';
import type { Debounce } from './debounce';
import type { Decision, Outcome } from './decisions';
import { afterTyping, typingBetween, type Offer } from './offer';
import { OfferCache, type Answer } from './offer_cache';
import { RunningRequest } from './running_request';
import type { Snapshot } from './snapshot';

/** An answer that takes longer is shown as far as whole lines of it are there. */
export const EARLY_MS = 250;

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onPartial: (partial: CompletionPartial) => void;
}
export type AskEngine = (
  request: CompletionRequest,
  options: AskOptions,
) => Promise<CompletionResult>;

export interface ServiceOptions {
  readonly ask: AskEngine;
  readonly debounce: Debounce;
  /** Settings of the moment. */
  readonly settings: () => Pick<CompletionRequest, 'multiline' | 'maxTokens'> & {
    /** Milliseconds; null = by typing rhythm. */
    readonly debounceMs: number | null;
  };
  readonly record: (decision: Decision) => void;
}

export interface Counters {
  /** Requests sent to the engine. */
  requests: number;
  /** Answers without a request: from the cache, or from a request that was running already. */
  cacheHits: number;
  reused: number;
  cancelled: number;
  accepted: number;
  /** Questions of the editor that are not answered yet, waits included. */
  pending: number;
}

/** A suggestion to show, with the id that `accepted` wants. */
export interface Suggestion {
  readonly offer: Offer;
  readonly id: number | null;
}

interface Question {
  readonly snapshot: Snapshot;
  readonly invoked: boolean;
  readonly signal: AbortSignal;
  readonly asked: number;
  waitedMs: number;
}

/** From a snapshot to a suggestion: cache, running request, wait, engine; in this order, and each at most once. */
export class CompletionService {
  readonly counters: Counters = {
    requests: 0,
    cacheHits: 0,
    reused: 0,
    cancelled: 0,
    accepted: 0,
    pending: 0,
  };
  lastResult: CompletionResult | null = null;
  private readonly cache = new OfferCache();
  private running: RunningRequest | null = null;

  constructor(private readonly options: ServiceOptions) {}

  /** Null when there is nothing to show; the reason is recorded. Never rejects. */
  async suggest(
    snapshot: Snapshot,
    invoked: boolean,
    signal: AbortSignal,
  ): Promise<Suggestion | null> {
    const question: Question = { snapshot, invoked, signal, asked: performance.now(), waitedMs: 0 };
    this.options.debounce.keystroke(question.asked);
    const hit = this.cache.find(snapshot);
    if (hit && !(invoked && hit.answer.kind === 'empty')) {
      this.counters.cacheHits++;
      return this.answer(question, hit.answer, 'cache', hit.id);
    }
    this.counters.pending++;
    try {
      return await this.fromEngine(question);
    } finally {
      this.counters.pending--;
    }
  }

  /** The user accepted the suggestion with this id. */
  accepted(id: number | null): void {
    this.counters.accepted++;
    if (id !== null) this.cache.remove(id);
  }

  /** Forgets all answers, for another model gives others. */
  reset(): void {
    this.cache.clear();
    this.cancelRunning();
  }

  private cancelRunning(): void {
    if (!this.running) return;
    this.running.cancel();
    this.running = null;
    this.counters.cancelled++;
  }

  private async fromEngine(question: Question): Promise<Suggestion | null> {
    const { snapshot, signal } = question;
    let running = this.running;
    if (running?.agrees(snapshot)) {
      const wait = await running.wait(snapshot, signal);
      if (wait.kind === 'aborted')
        return this.nothing(question, { kind: 'nothing', reason: 'superseded' });
      if (wait.kind === 'early') return this.shown(question, wait.offer, 'running', null);
      const reused = wait.kind === 'done' ? await this.fromResult(question, running) : undefined;
      if (reused !== undefined) {
        this.counters.reused++;
        return reused;
      }
    } else {
      this.cancelRunning();
      if (!(await this.debounced(question))) {
        return this.nothing(question, { kind: 'nothing', reason: 'superseded' });
      }
    }
    running = this.start(snapshot);
    const wait = await running.wait(snapshot, signal);
    if (wait.kind === 'early') return this.shown(question, wait.offer, 'engine', null);
    if (wait.kind === 'done') return (await this.fromResult(question, running)) ?? null;
    return this.nothing(question, { kind: 'nothing', reason: 'superseded' });
  }

  private start(snapshot: Snapshot): RunningRequest {
    this.cancelRunning();
    this.counters.requests++;
    const started = performance.now();
    const { multiline, maxTokens } = this.options.settings();
    const { path, languageId, prefix, prefixLine, suffix, eol, tabSize, insertSpaces } = snapshot;
    const request: CompletionRequest = {
      ...{ path, languageId, prefix, prefixLine, suffix, eol, tabSize, insertSpaces },
      ...{ multiline, maxTokens },
    };
    const running = new RunningRequest(
      snapshot,
      (signal, onPartial) => this.options.ask(request, { signal, onPartial }),
      EARLY_MS,
    );
    this.running = running;
    const ended = (): void => {
      if (this.running === running) this.running = null;
    };
    running.result.then((result) => {
      ended();
      this.lastResult = result;
      if (result.reason === 'cancelled') return;
      this.options.debounce.answered(performance.now() - started);
      this.cache.add(snapshot, answerOf(result));
    }, ended);
    return running;
  }

  /** What a finished request says to the question; undefined when it says nothing about it. */
  private async fromResult(
    question: Question,
    running: RunningRequest,
  ): Promise<Suggestion | null | undefined> {
    let result: CompletionResult;
    try {
      result = await running.result;
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      return this.nothing(question, { kind: 'nothing', reason: 'engine', detail });
    }
    const typing = typingBetween(running.snapshot, question.snapshot);
    if (result.reason !== null) {
      if (typing?.typed !== '') return undefined;
      return this.nothing(question, { kind: 'nothing', reason: result.reason }, result);
    }
    const offer = typing && afterTyping(result, typing);
    if (!offer) return undefined;
    const id = this.cache.find(question.snapshot)?.id ?? null;
    return this.shown(question, offer, 'engine', id, result);
  }

  /** Waits for the typing to pause; false when the question was taken back. */
  private async debounced(question: Question): Promise<boolean> {
    const { debounceMs } = this.options.settings();
    const delay = question.invoked ? 0 : (debounceMs ?? this.options.debounce.delay());
    if (delay > 0) {
      const started = performance.now();
      await sleep(delay, question.signal);
      question.waitedMs = performance.now() - started;
    }
    return !question.signal.aborted;
  }

  private answer(
    question: Question,
    answer: Answer,
    from: 'cache' | 'engine',
    id: number,
  ): Suggestion | null {
    return answer.kind === 'offer'
      ? this.shown(question, answer.offer, from, id)
      : this.nothing(question, { kind: 'nothing', reason: answer.reason });
  }

  private shown(
    question: Question,
    offer: Offer,
    from: 'engine' | 'cache' | 'running',
    id: number | null,
    result: CompletionResult | null = null,
  ): Suggestion {
    this.record(question, { kind: 'shown', text: offer.text, from }, result);
    return { offer, id };
  }

  private nothing(
    question: Question,
    outcome: Outcome,
    result: CompletionResult | null = null,
  ): null {
    this.record(question, outcome, result);
    return null;
  }

  private record(question: Question, outcome: Outcome, result: CompletionResult | null): void {
    const { snapshot, invoked, waitedMs, asked } = question;
    this.options.record({
      at: Date.now(),
      path: snapshot.path,
      line: snapshot.cursor.line + 1,
      column: snapshot.cursor.character + 1,
      invoked,
      outcome,
      elapsedMs: performance.now() - asked,
      waitedMs,
      result,
    });
  }
}

function answerOf(result: CompletionResult): Answer {
  const { text, replaceAfter, reason } = result;
  return reason === null
    ? { kind: 'offer', offer: { text, replaceAfter } }
    : { kind: 'empty', reason };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
