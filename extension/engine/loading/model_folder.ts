import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { badModel, firstFew } from './bad_model';
import { isLaterPart } from './gguf/split';
import { isMissing } from './model_file';
import { openSafetensors } from './safetensors';

export const CONFIG_FILE = 'config.json';
const GGUF_MAGIC = 'GGUF';

/**
 * Throws unless `path` is a folder. A single safetensors file is a common mistake: what is wrong with the file itself is
 * reported first.
 */
export function assertModelFolder(path: string): void {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    throw badModel(path, isMissing(error) ? 'no such model folder' : 'cannot be read', error);
  }
  if (isFolder) return;
  if (path.endsWith('.safetensors')) openSafetensors(path).close();
  throw badModel(
    path,
    'is a file; give a GGUF file, or the model folder: config.json, tokenizer.json and model.safetensors',
  );
}

/**
 * The GGUF model of a folder without a checkpoint: its one file, or the first part of its one split model; null when it
 * has none. Throws EngineError bad_model when it has several.
 */
export function ggufInFolder(folder: string): string | null {
  const models = ggufModels(folder);
  if (models.length === 0 || hasCheckpoint(folder)) return null;
  const [only, ...more] = models;
  if (only !== undefined && more.length === 0) return join(folder, only);
  throw badModel(folder, `${models.length} GGUF models, give one of them: ${firstFew(models)}`);
}

/** A config.json without weights, beside GGUF files, comes from the model that they were made from. */
export function hasCheckpoint(folder: string): boolean {
  const names = filesWithin(folder);
  return names.includes(CONFIG_FILE) && names.some((name) => name.endsWith('.safetensors'));
}

/** Names of the GGUF models of a folder, of a split one its first part. Vision projectors are no models. */
export function ggufModels(folder: string): string[] {
  return filesWithin(folder).filter(
    (name) => name.endsWith('.gguf') && !isLaterPart(name) && !/mmproj/i.test(name),
  );
}

/** Whether a file is a GGUF file by its name or, as among Ollama's blobs, by its first bytes. */
export function isGgufFile(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  return path.endsWith('.gguf') || firstBytes(path) === GGUF_MAGIC;
}

function firstBytes(path: string): string {
  const bytes = Buffer.alloc(GGUF_MAGIC.length);
  const descriptor = openSync(path, 'r');
  try {
    return bytes.toString('latin1', 0, readSync(descriptor, bytes));
  } finally {
    closeSync(descriptor);
  }
}

function filesWithin(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return []; // whoever opens the folder reports it
  }
}
