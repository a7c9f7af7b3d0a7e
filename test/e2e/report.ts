import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cache } from '../../scripts/vscode-lab/lab.mjs';

/** The value below which the fraction `p` of the values lies, by nearest rank; NaN of none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export interface Distribution {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** Milliseconds, rounded. */
export function distribution(values: readonly number[]): Distribution {
  const at = (p: number): number => Math.round(percentile(values, p));
  return { n: values.length, p50: at(0.5), p95: at(0.95), max: at(1) };
}

export const show = ({ n, p50, p95, max }: Distribution): string =>
  `p50 ${p50} ms, p95 ${p95} ms, max ${max} ms (n = ${n})`;

/** Writes figures to .cache/e2e/NAME.json. */
export function saveReport(name: string, figures: object): void {
  const folder = join(cache, 'e2e');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
}
