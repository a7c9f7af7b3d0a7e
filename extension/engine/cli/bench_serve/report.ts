import { quantile } from '../../statistics';
import type { Sample } from './load';

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** One load: milliseconds, pieces of text (nearly always tokens) a second. */
export interface LoadReport {
  readonly load: string;
  readonly requests: number;
  readonly errors: number;
  readonly tok_s: number;
  readonly requests_s: number;
  readonly ttft_ms: Percentiles;
  readonly inter_token_ms: Percentiles;
  /** Jain's index of the speeds of the requests: 1 = all alike, 1/n = one got everything. */
  readonly fairness: number;
  readonly first_error: string | null;
}

export function reportOf(load: string, samples: readonly Sample[]): LoadReport {
  const good = samples.filter(({ error, arrivals }) => error === null && arrivals.length > 0);
  const seconds = Math.max(...samples.map(endOf), 1) / 1000;
  const tokens = good.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
  const gaps = good.flatMap(({ arrivals }) =>
    arrivals.slice(1).map((time, i) => time - (arrivals[i] ?? time)),
  );
  return {
    load,
    requests: samples.length,
    errors: samples.length - good.length,
    tok_s: round(tokens / seconds),
    requests_s: round(good.length / seconds, 2),
    ttft_ms: percentiles(good.map(({ arrivals }) => arrivals[0] ?? 0)),
    inter_token_ms: percentiles(gaps),
    fairness: round(jain(good.map(({ arrivals }) => arrivals.length / (arrivals.at(-1) ?? 1))), 3),
    first_error: samples.find(({ error }) => error !== null)?.error ?? null,
  };
}

/** Jain, Chiu and Hawe 1984, https://arxiv.org/abs/cs/9809099. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((a, b) => a + b, 0);
  const squares = values.reduce((a, b) => a + b * b, 0);
  return squares === 0 ? 1 : (sum * sum) / (values.length * squares);
}

function endOf({ sentMs, arrivals }: Sample): number {
  return sentMs + (arrivals.at(-1) ?? 0);
}

function percentiles(sample: readonly number[]): Percentiles {
  const at = (q: number) => (sample.length === 0 ? 0 : round(quantile(sample, q)));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}
