import type { Endpoint } from '../../remote/endpoint';
import { jsonEvents } from '../../remote/events';

/** What one request saw, in milliseconds since it was sent. */
export interface Sample {
  /** When it was sent, since the run began. */
  readonly sentMs: number;
  /** When each piece of text came. */
  readonly arrivals: readonly number[];
  readonly error: string | null;
}

export interface Work {
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly maxTokens: number;
  /** The prompt of request `index`; no two are alike, so that nothing is in the cache. */
  readonly prompt: (index: number) => string;
}

/** `concurrency` clients, each of which sends its next request when the last one is answered. */
export async function closedLoop(
  work: Work,
  concurrency: number,
  requests: number,
): Promise<Sample[]> {
  const started = performance.now();
  const samples: Sample[] = [];
  let next = 0;
  const client = async () => {
    while (next < requests) samples.push(await send(work, next++, started));
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, client));
  return samples;
}

/** Requests that come at random times, `rate` a second on average, however many wait: as from many users. */
export async function openLoop(
  work: Work,
  rate: number,
  requests: number,
  random: () => number,
): Promise<Sample[]> {
  const started = performance.now();
  const running: Promise<Sample>[] = [];
  let at = 0;
  for (let index = 0; index < requests; index++) {
    // A Poisson process: the times between two are distributed exponentially.
    at += (-Math.log(1 - random()) / rate) * 1000;
    await new Promise((resolve) => setTimeout(resolve, started + at - performance.now()));
    running.push(send(work, index, started));
  }
  return Promise.all(running);
}

async function send(work: Work, index: number, started: number): Promise<Sample> {
  const { endpoint, model, maxTokens, prompt } = work;
  const sent = performance.now();
  const arrivals: number[] = [];
  const body = {
    model,
    prompt: prompt(index),
    max_tokens: maxTokens,
    temperature: 0,
    stream: true,
  };
  let error: string | null = null;
  try {
    const stream = await endpoint.stream('/v1/completions', body, new AbortController().signal);
    for await (const event of jsonEvents(stream, endpoint.base)) {
      const { choices } = event as { choices?: readonly { text?: string }[] };
      if (choices?.[0]?.text) arrivals.push(performance.now() - sent);
    }
  } catch (cause) {
    error = cause instanceof Error ? cause.message : String(cause);
  }
  return { sentMs: sent - started, arrivals, error };
}
