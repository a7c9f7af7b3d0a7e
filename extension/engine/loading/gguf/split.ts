import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { badModel, quote } from '../bad_model';
import { GgufFile } from './gguf_file';
import type { GgufMetadata } from './metadata';

/** `name-00001-of-00003.gguf` */
const PART_NAME = /^(.+)-(\d{5})-of-(\d{5})\.gguf$/;
/** The largest public models come in some 100 parts. */
const MAX_PARTS = 1_024;
const SPLIT_NUMBER = 'split.no';
const SPLIT_COUNT = 'split.count';
const SPLIT_TENSORS = 'split.tensors.count';

/** True for the second and later files of a split model. */
export function isLaterPart(path: string): boolean {
  const number = PART_NAME.exec(basename(path))?.[2];
  return number !== undefined && number !== '00001';
}

/**
 * Opens a GGUF model: one file, or the first of `name-00001-of-00003.gguf` with the others beside it. The first file has
 * the metadata. Throws EngineError bad_model; the caller closes the files.
 */
export function openGgufParts(path: string): GgufFile[] {
  const parts = [GgufFile.open(path)];
  try {
    const [first] = parts as [GgufFile];
    const count = splitCount(first);
    if (count > 1) {
      checkNumber(first, 0, count);
      for (const name of partNames(first, count).slice(1)) {
        const part = GgufFile.open(name);
        checkNumber(part, parts.push(part) - 1, count);
      }
    }
    checkTensors(first, parts);
    return parts;
  } catch (error) {
    for (const part of parts) part.close();
    throw error;
  }
}

function splitCount({ metadata, path }: GgufFile): number {
  const count = metadata.get(SPLIT_COUNT) ?? 0;
  if (typeof count === 'number' && count <= MAX_PARTS) return count;
  throw badModel(
    path,
    `metadata "${SPLIT_COUNT}": got ${String(count)}, expected at most ${MAX_PARTS}`,
  );
}

function checkNumber({ metadata, path }: GgufFile, number: number, count: number): void {
  expectEqual(path, metadata, SPLIT_NUMBER, number);
  expectEqual(path, metadata, SPLIT_COUNT, count);
}

function expectEqual(path: string, metadata: GgufMetadata, key: string, expected: number): void {
  const got = metadata.get(key);
  if (got === expected) return;
  const hint = key === SPLIT_NUMBER && expected === 0 ? '; give the first part of the model' : '';
  throw badModel(path, `metadata "${key}": got ${String(got)}, expected ${expected}${hint}`);
}

/** Absolute paths of all parts. Throws when one is missing. */
function partNames({ path }: GgufFile, count: number): string[] {
  const [, stem, , total] = PART_NAME.exec(basename(path)) ?? [];
  if (stem === undefined || Number(total) !== count) {
    const expected = `NAME-00001-of-${pad(count)}.gguf`;
    throw badModel(path, `one of ${count} parts of a model: expected its name to be ${expected}`);
  }
  const names = Array.from({ length: count }, (_, i) =>
    join(dirname(path), `${stem}-${pad(i + 1)}-of-${pad(count)}.gguf`),
  );
  const missing = names.filter((name) => !existsSync(name)).map((name) => basename(name));
  if (missing.length === 0) return names;
  throw badModel(path, `${missing.join(', ')}: missing: download the model again`);
}

function checkTensors(first: GgufFile, parts: readonly GgufFile[]): void {
  const owners = new Map<string, string>();
  for (const part of parts) {
    for (const name of part.tensors.keys()) {
      const other = owners.get(name);
      if (other !== undefined) {
        throw badModel(part.path, `tensor ${quote(name)}: also in ${basename(other)}`);
      }
      owners.set(name, part.path);
    }
  }
  if (first.metadata.has(SPLIT_TENSORS)) {
    expectEqual(first.path, first.metadata, SPLIT_TENSORS, owners.size);
  }
}

function pad(number: number): string {
  return String(number).padStart(5, '0');
}
