import { isCancelled } from '../errors';
import type { EngineRequest } from '../engine';
import type { GenerateResult, TokenLogprob } from '../generation/types';
import type { Call } from './call';
import type { ServerEngine } from './engine';
import { unavailable } from './errors';

export interface ChoiceText {
  /** Number of the request. */
  readonly index: number;
  readonly text: string;
  readonly tokens: readonly TokenLogprob[];
}

/** A request without what the server adds. */
export type ChoiceRequest = Omit<EngineRequest, 'signal' | 'onText' | 'priority'>;

export interface GenerateHandlers {
  /** In order for each choice. Returning false ends that choice with 'stop'. */
  readonly onText?: (text: ChoiceText) => boolean | undefined;
  readonly onEnd?: (index: number, result: GenerateResult) => void;
}

/**
 * Runs all choices of a request, in the same batches as far as there is room. When one fails the others are
 * cancelled, and the failure is thrown after they have ended.
 */
export async function generateAll(
  call: Call,
  engine: ServerEngine,
  requests: readonly ChoiceRequest[],
  { onText, onEnd }: GenerateHandlers = {},
): Promise<GenerateResult[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([call.signal, failed.signal]);
  const clock = new TextClock(call);
  const run = async (request: ChoiceRequest, index: number): Promise<GenerateResult> => {
    try {
      const listen = (text: string, tokens: readonly TokenLogprob[] = []) => {
        clock.tick(index);
        return onText?.({ index, text, tokens });
      };
      const result = await engine.generate({
        ...request,
        priority: 'port',
        signal,
        onText: listen,
      });
      if (result.finishReason !== 'cancelled') onEnd?.(index, result);
      else if (!failed.signal.aborted) {
        throw unavailable('shutting_down', 'the server is shutting down');
      }
      return result;
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  const outcomes = await Promise.allSettled(requests.map(run));
  const failures = outcomes.flatMap((outcome): unknown[] =>
    outcome.status === 'rejected' ? [outcome.reason] : [],
  );
  if (failures.length > 0) throw failures.find((error) => !isCancelled(error)) ?? failures[0];
  const results = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value] : [],
  );
  count(call, results);
  return results;
}

function count({ state: { metrics }, facts }: Call, results: readonly GenerateResult[]): void {
  for (const { ids, finishReason, promptTokens, cachedTokens } of results) {
    metrics.promptTokens.add({}, promptTokens);
    metrics.cachedTokens.add({}, cachedTokens);
    metrics.completionTokens.add({}, ids.length);
    metrics.answers.add({ reason: finishReason });
  }
  const sum = (of: (result: GenerateResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  facts.push(
    `prompt=${sum((r) => r.promptTokens)}`,
    `cached=${sum((r) => r.cachedTokens)}`,
    `completion=${sum((r) => r.ids.length)}`,
  );
}

/** Times of the pieces of text, for the histograms. */
class TextClock {
  private readonly last = new Map<number, number>();

  constructor(private readonly call: Call) {}

  tick(index: number): void {
    const { startedAt, state } = this.call;
    const now = performance.now();
    const before = this.last.get(index);
    if (before === undefined) state.metrics.firstToken.observe((now - startedAt) / 1000);
    else state.metrics.interToken.observe((now - before) / 1000);
    this.last.set(index, now);
  }
}
