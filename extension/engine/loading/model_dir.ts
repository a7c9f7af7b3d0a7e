import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { EngineError } from '../errors';
import { CONFIG_FILE } from './config';
import { assertModelFolder, ggufInFolder, ggufModels, isGgufFile } from './model_folder';
import { ollamaModel, ollamaRoot } from './ollama';

/** A repository on the Hugging Face Hub or in LM Studio's folders, `org/name`, and perhaps a GGUF file of it. */
const REPOSITORY = /^((?!\.)[\w.-]{1,100}\/(?!\.)[\w.-]{1,100})(?:\/((?!\.)[\w.-]{1,200}\.gguf))?$/;
/** Name of the embedded model, and its folder. */
export const EMBEDDED_NAME = 'sprout';
const EMBEDDED = join('extension', 'assets', EMBEDDED_NAME);

/**
 * The folder or GGUF file of the model that a user names: a path; `org/name`, or `org/name/file.gguf`, in the Hugging Face
 * cache or in LM Studio's folders; a name of Ollama's; nothing named = the embedded model. Nothing is ever downloaded
 * here. Throws EngineError bad_request when there is no such model, bad_model when a file is corrupt or no model.
 */
export function resolveModel(name?: string): string {
  if (name === undefined || name === '' || name === EMBEDDED_NAME) return embeddedModel();
  if (existsSync(name)) return modelAt(resolve(name));
  const [, repository, file] = REPOSITORY.exec(name) ?? [];
  const folder =
    repository === undefined ? null : (hubSnapshot(repository) ?? studioFolder(repository));
  if (folder !== null) return modelAt(file === undefined ? folder : join(folder, file));
  const blob = ollamaModel(name);
  if (blob !== null) return modelAt(blob);
  const places = [hubCache(), ...studioRoots(), ollamaRoot()].join(', ');
  throw new EngineError(
    'bad_request',
    `model ${JSON.stringify(name)}: no such file or folder, and no such model in ${places}`,
  );
}

/** A GGUF file itself, the one in a folder that has no other model, or the folder. */
function modelAt(path: string): string {
  if (isGgufFile(path)) return path;
  assertModelFolder(path);
  return ggufInFolder(path) ?? path;
}

/** The model that comes with the product. It lies beside the sources, and beside the bundles of a package. */
export function embeddedModel(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, EMBEDDED);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) {
      throw new EngineError(
        'unavailable',
        `the embedded model is missing: no ${EMBEDDED} above ${__dirname}`,
      );
    }
  }
}

/** Where Hugging Face's tools keep repositories: https://huggingface.co/docs/huggingface_hub/guides/manage-cache */
export function hubCache(): string {
  const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = process.env;
  if (HF_HUB_CACHE) return HF_HUB_CACHE;
  return join(HF_HOME || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface'), 'hub');
}

/** Where LM Studio keeps models, as org/name: the present place and the one of old versions. */
export function studioRoots(): string[] {
  return [join(homedir(), '.lmstudio', 'models'), join(homedir(), '.cache', 'lm-studio', 'models')];
}

/** The snapshot of a repository that `main` points to, else the newest one; null when there is none. */
export function hubSnapshot(repository: string): string | null {
  const folder = join(hubCache(), `models--${repository.replace('/', '--')}`);
  const snapshots = join(folder, 'snapshots');
  const hasModel = (revision: string) => {
    const snapshot = join(snapshots, revision);
    return existsSync(join(snapshot, CONFIG_FILE)) || ggufModels(snapshot).length > 0;
  };
  const main = join(folder, 'refs', 'main');
  const current = existsSync(main) ? readFileSync(main, 'utf8').trim() : '';
  if (/^[0-9a-f]{6,64}$/.test(current) && hasModel(current)) return join(snapshots, current);
  const newest = subfolders(snapshots)
    .filter(hasModel)
    .map((revision) => ({
      path: join(snapshots, revision),
      time: statSync(join(snapshots, revision)).mtimeMs,
    }))
    .sort((a, b) => b.time - a.time)[0];
  return newest?.path ?? null;
}

function studioFolder(repository: string): string | null {
  const folders = studioRoots().map((root) => join(root, repository));
  return folders.find((folder) => existsSync(folder)) ?? null;
}

/** Names of the folders in a folder; none when it cannot be read. */
export function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}
