/** Checkpoints of test/fixtures/families with changes, and what loading says of them. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import { openCheckpoint } from '../../../extension/engine/loading/checkpoint';
import { readModelConfig } from '../../../extension/engine/loading/config';
import { parseSafetensorsHeader } from '../../../extension/engine/loading/safetensors_header';
import {
  FIXTURES,
  safetensors,
  temporaryFolder,
  writeFiles,
  type Entry,
} from '../loading/model_fixture';

/** What loading a model checks before a backend sees it. */
export function load(dir: string): void {
  const store = openCheckpoint(dir);
  try {
    const program = buildProgram(readModelConfig(dir), store);
    for (const { name, rows, cols, part } of program.weights) store.weight(name, rows, cols, part);
    store.assertAllUsed();
  } finally {
    store.close();
  }
}

/** A copy of a fixture with some keys of config.json changed. */
export function changed(family: string, change: Record<string, unknown>): string {
  const source = join(FIXTURES, 'families', family);
  const dir = temporaryFolder();
  cpSync(join(source, 'model.safetensors'), join(dir, 'model.safetensors'));
  const config = JSON.parse(readFileSync(join(source, 'config.json'), 'utf8')) as object;
  return writeFiles(dir, { 'config.json': { ...config, ...change } });
}

/** A copy of a fixture with more tensors, and some keys of config.json changed. */
export function withTensors(
  family: string,
  more: Readonly<Record<string, Entry>>,
  change: Record<string, unknown> = {},
): string {
  const dir = changed(family, change);
  const all = { ...renamed(family, (name) => name), ...more };
  return writeFiles(dir, { 'model.safetensors': safetensors(all) });
}

/** The tensors of a fixture under other names. */
export function renamed(family: string, rename: (name: string) => string): Record<string, Entry> {
  const bytes = readFileSync(join(FIXTURES, 'families', family, 'model.safetensors'));
  const header = bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE()));
  const tensors = parseSafetensorsHeader('', header, bytes.length);
  const entries = [...tensors].map(([name, { dtype, shape, offset, byteLength }]) => [
    rename(name),
    { dtype, shape, data: bytes.subarray(offset, offset + byteLength) },
  ]);
  return Object.fromEntries(entries) as Record<string, Entry>;
}
