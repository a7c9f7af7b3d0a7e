import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ConfigReader } from './config_reader';
import { readJsonObject } from './json_file';
import { allowedRoot } from './model_file';

const MANIFEST_FILE = 'anllm.json';
const MAX_BYTES = 64 * 1024;

/** How a model writes fill-in-the-middle, when its makers say so; see fim.ts. */
export interface FimTemplate {
  /** File that says so, for messages. */
  readonly file: string;
  /** Control tokens around `{prefix}` and `{suffix}`. */
  readonly template: string;
  /** A control token, then `{path}` and a line feed; null when the model knows no file headers. */
  readonly fileHeader: string | null;
  /** The same with `{repo}`. */
  readonly repoHeader: string | null;
}

/** The optional anllm.json of a model folder. */
export interface Manifest {
  /** Name for people. */
  readonly title: string;
  readonly fim: FimTemplate | null;
}

/** Reads a folder's anllm.json; without one, the title is the repository's or the folder's name. */
export function readManifest(folder: string): Manifest {
  const file = join(folder, MANIFEST_FILE);
  const title = repositoryName(folder);
  if (!existsSync(file)) return { title, fim: null };
  const reader = new ConfigReader(file, readJsonObject(file, allowedRoot(folder), MAX_BYTES));
  const fim = reader.optionalObject('fim');
  return { title: reader.string('title', title), fim: fim === null ? null : readFim(file, fim) };
}

function readFim(file: string, fim: ConfigReader): FimTemplate {
  return {
    file,
    template: fim.string('template'),
    fileHeader: fim.has('fileHeader') ? fim.string('fileHeader') : null,
    repoHeader: fim.has('repoHeader') ? fim.string('repoHeader') : null,
  };
}

/** `org/name` of a folder in the Hugging Face cache, else the folder's own name. */
export function repositoryName(folder: string): string {
  const repository = basename(dirname(dirname(folder)));
  if (basename(dirname(folder)) !== 'snapshots' || !repository.startsWith('models--'))
    return basename(folder);
  return repository.slice('models--'.length).replace('--', '/');
}
