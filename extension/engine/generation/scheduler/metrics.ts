import { isCancelled } from '../../errors';
import type { GenerateResult } from '../types';

/** Totals since the scheduler began. */
export interface SchedulerCounters {
  requests: number;
  stopped: number;
  reachedLength: number;
  cancelled: number;
  failed: number;
  steps: number;
  /** Steps given up for a more urgent request, and repeated. */
  interruptedSteps: number;
  /** Rows of all steps. */
  computedTokens: number;
  generatedTokens: number;
  /** Tokens guessed ahead, and those of them that were right. */
  draftedTokens: number;
  acceptedTokens: number;
  promptTokens: number;
  /** Prompt tokens whose keys and values were in the cache. */
  hitTokens: number;
}

export interface SchedulerMetrics extends Readonly<SchedulerCounters> {
  readonly running: number;
  readonly waiting: number;
  /** Running sequences that lost their blocks to others and were computed anew. */
  readonly preemptions: number;
  /** Of the whole pool; what is neither free nor cached is held by running sequences. */
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly cachedBlocks: number;
  /** Cached blocks that were given up for new ones. */
  readonly evictedBlocks: number;
}

export function newCounters(): SchedulerCounters {
  return {
    requests: 0,
    stopped: 0,
    reachedLength: 0,
    cancelled: 0,
    failed: 0,
    steps: 0,
    interruptedSteps: 0,
    computedTokens: 0,
    generatedTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
    promptTokens: 0,
    hitTokens: 0,
  };
}

/** Counts a request that has resolved. */
export function countResult(counters: SchedulerCounters, result: GenerateResult): void {
  counters.generatedTokens += result.ids.length;
  counters.promptTokens += result.promptTokens;
  counters.hitTokens += result.cachedTokens;
  switch (result.finishReason) {
    case 'stop':
      counters.stopped++;
      break;
    case 'length':
      counters.reachedLength++;
      break;
    case 'cancelled':
      counters.cancelled++;
      break;
  }
}

/** Counts a request that was rejected after it took its place. */
export function countFailure(counters: SchedulerCounters, error: unknown): void {
  if (isCancelled(error)) counters.cancelled++;
  else counters.failed++;
}
