/**
 * npm run conformance [-- --backend reference,cpu-exact,cpu,metal-exact,metal] [FOLDER...]: logits and greedy tokens of every checkpoint
 * that has a golden.safetensors, on every backend, as one table. A folder without one stands for the folders in it.
 * Without folders: the fixtures, and ../shared/conformance when it is there. Exit code 1 when a row fails.
 */
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  check,
  checkpointsIn,
  describe,
  messageOf,
  variants,
  type Result,
} from './lib/conformance';

const ROOT = resolve(__dirname, '..');
const DEFAULT_FOLDERS = [
  'test/fixtures/families',
  'test/fixtures/conformance',
  '../shared/conformance',
];
const HEADER = ['folder', 'family', 'format', 'backend', 'rel err', 'cosine', 'greedy', 'pass'];

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { backend: { type: 'string' } },
    allowPositionals: true,
  });
  const backends = variants(values.backend?.split(',') ?? null);
  const folders = positionals.length > 0 ? positionals : DEFAULT_FOLDERS.map((f) => join(ROOT, f));
  const rows: string[][] = [];
  let passed = 0;
  for (const dir of folders.flatMap(checkpointsIn)) {
    const { family, format } = describe(dir);
    for (const variant of backends) {
      const result = await check(dir, variant);
      if (result.pass) passed++;
      rows.push([basename(dir), family, format, variant.name, ...cells(result)]);
    }
  }
  print([HEADER, ...rows]);
  console.log(`\n${passed} of ${rows.length} pass`);
  if (passed < rows.length) process.exitCode = 1;
}

function cells({ agreement, pass, error }: Result): string[] {
  if (agreement === null) return ['', '', '', `NO: ${error}`];
  const { relError, cosine, greedyEqual } = agreement;
  return [
    relError.toExponential(1),
    cosine.toFixed(6),
    greedyEqual ? 'equal' : 'differ',
    pass ? 'yes' : 'NO',
  ];
}

function print(table: readonly (readonly string[])[]): void {
  const widths = HEADER.map((_, c) => Math.max(...table.map((row) => row[c]?.length ?? 0)));
  for (const row of table) {
    console.log(
      row
        .map((cell, c) => cell.padEnd(widths[c] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

main().catch((error: unknown) => {
  console.error(messageOf(error));
  process.exitCode = 2;
});
