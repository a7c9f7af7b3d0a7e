import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { badModel, firstFew, quote } from './bad_model';
import { isJsonObject, readJsonObject } from './json_file';
import { SafetensorsFile } from './safetensors';

const INDEX_FILE = 'model.safetensors.index.json';
const MAX_INDEX_BYTES = 16 * 1024 * 1024;
/** A shard's name is one plain path segment: no separator, drive, `..` or control character. */
const SHARD_NAME = /^(?!\.)[\w.+-]{1,200}\.safetensors$/;
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)\./i;

/**
 * Opens the weight files of a model folder: those of the index when there is one, else every `model*.safetensors`.
 * The caller closes them.
 */
export function openShards(folder: string, root: string): SafetensorsFile[] {
  const index = join(folder, INDEX_FILE);
  const expected = existsSync(index) ? readIndex(index, root) : null;
  const names = expected === null ? globShards(folder) : [...new Set(expected.values())].sort();
  const missing = names.filter((name) => !existsSync(join(folder, name)));
  if (missing.length > 0) {
    throw badModel(folder, `${missing.join(', ')}: missing: download the model again`);
  }
  const shards: SafetensorsFile[] = [];
  try {
    for (const name of names) shards.push(SafetensorsFile.open(join(folder, name), root));
    if (expected !== null) compareWithIndex(index, expected, names, shards);
    return shards;
  } catch (error) {
    for (const shard of shards) shard.close();
    throw error;
  }
}

function globShards(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^model.*\.safetensors$/.test(name));
  if (names.length === 0) {
    throw badModel(folder, `no weights: expected model.safetensors or ${INDEX_FILE}`);
  }
  return names.sort();
}

/** Tensor name → shard name. */
function readIndex(file: string, root: string): Map<string, string> {
  const { weight_map: weightMap } = readJsonObject(file, root, MAX_INDEX_BYTES);
  if (!isJsonObject(weightMap)) {
    throw badModel(file, `weight_map: got ${quote(weightMap)}, expected an object`);
  }
  const shards = new Map<string, string>();
  for (const [tensor, shard] of Object.entries(weightMap)) {
    if (typeof shard !== 'string' || !SHARD_NAME.test(shard) || WINDOWS_DEVICE.test(shard)) {
      throw badModel(
        file,
        `weight_map: ${quote(tensor)}: ${quote(shard)} is outside the model directory: expected *.safetensors in it`,
      );
    }
    shards.set(tensor, shard);
  }
  if (shards.size === 0) throw badModel(file, 'weight_map: got no tensors');
  return shards;
}

function compareWithIndex(
  index: string,
  expected: ReadonlyMap<string, string>,
  names: readonly string[],
  shards: readonly SafetensorsFile[],
): void {
  const byName = new Map(names.map((name, i) => [name, shards[i]]));
  for (const [tensor, name] of expected) {
    if (!byName.get(name)?.tensors.has(tensor)) {
      throw badModel(index, `${quote(tensor)}: the index says ${name}, not there`);
    }
  }
  const extra = shards
    .flatMap((shard) => [...shard.tensors.keys()])
    .filter((t) => !expected.has(t));
  if (extra.length > 0)
    throw badModel(index, `tensors that the index does not list: ${firstFew(extra)}`);
}
