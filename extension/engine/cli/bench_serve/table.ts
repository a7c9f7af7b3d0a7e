import type { LoadReport } from './report';

const HEAD = [
  'load',
  'tok/s',
  'req/s',
  'TTFT p50/p95/p99',
  'inter-token p50/p95/p99',
  'fair',
  'errors',
];

/** A row a load; each column as wide as its widest cell. */
export function table(reports: readonly LoadReport[]): string {
  const times = ({ p50, p95, p99 }: LoadReport['ttft_ms']) => `${p50} / ${p95} / ${p99}`;
  const rows = reports.map((r) => [
    r.load,
    String(r.tok_s),
    String(r.requests_s),
    times(r.ttft_ms),
    times(r.inter_token_ms),
    r.fairness.toFixed(2),
    String(r.errors),
  ]);
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const cells = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)));
  return all.map((row) => `${cells(row).join('  ')}\n`).join('');
}
