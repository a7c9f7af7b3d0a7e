/**
 * Ollama keeps models as manifests/<host>/<namespace>/<model>/<tag>, JSON that names the GGUF file among blobs/ by its
 * digest: https://github.com/ollama/ollama/blob/main/docs/faq.mdx (where models are stored).
 */
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { badModel } from './bad_model';
import { isJsonObject, type JsonObject, readJsonObject } from './json_file';
import { allowedRoot } from './model_file';

const HOST = 'registry.ollama.ai';
const NAMESPACE = 'library';
const TAG = 'latest';
const MODEL_LAYER = 'application/vnd.ollama.image.model';
const MAX_MANIFEST_BYTES = 1 << 20;
/** `model`, `model:tag`, `namespace/model:tag`, `host/namespace/model:tag`; no part begins with a dot. */
const PART = '[A-Za-z0-9_][\\w.-]{0,99}';
const NAME = new RegExp(`^(?:(?:(${PART})/)?(${PART})/)?(${PART})(?::(${PART}))?$`);

/** Where Ollama's installer for Linux has the service keep them. */
const OF_SERVICE = '/usr/share/ollama/.ollama/models';

/** The folder with `manifests` and `blobs`: a user's own, else that of the service. */
export function ollamaRoot(service = OF_SERVICE): string {
  const own = process.env.OLLAMA_MODELS || join(homedir(), '.ollama', 'models');
  const isThere = (root: string) => existsSync(join(root, 'manifests'));
  return process.env.OLLAMA_MODELS || isThere(own) || !isThere(service) ? own : service;
}

/** The GGUF file of a model by Ollama's name of it, e.g. `qwen2.5-coder:1.5b`; null when Ollama has no such model. */
export function ollamaModel(name: string): string | null {
  const [, host = HOST, namespace = NAMESPACE, model, tag = TAG] = NAME.exec(name) ?? [];
  if (model === undefined) return null;
  const manifest = join(ollamaRoot(), 'manifests', host, namespace, model, tag);
  return existsSync(manifest) ? modelBlob(manifest) : null;
}

export interface OllamaModel {
  readonly name: string;
  readonly manifest: string;
}

/** All models that Ollama has, by their shortest names. */
export function ollamaModels(): OllamaModel[] {
  const root = join(ollamaRoot(), 'manifests');
  return names(root).flatMap((host) =>
    names(join(root, host)).flatMap((namespace) =>
      names(join(root, host, namespace)).flatMap((model) =>
        names(join(root, host, namespace, model)).map((tag) => ({
          name: `${prefix(host, namespace)}${model}:${tag}`,
          manifest: join(root, host, namespace, model, tag),
        })),
      ),
    ),
  );
}

/** The GGUF file that a manifest names. Throws EngineError bad_model. */
export function modelBlob(manifest: string): string {
  const json = readJsonObject(manifest, allowedRoot(ollamaRoot()), MAX_MANIFEST_BYTES);
  const layers: readonly unknown[] = Array.isArray(json.layers) ? json.layers : [];
  const isModel = (layer: unknown): layer is JsonObject =>
    isJsonObject(layer) && layer.mediaType === MODEL_LAYER;
  const digests = layers.filter(isModel).map(({ digest }) => String(digest));
  const [digest, ...more] = digests;
  if (digest === undefined || more.length > 0) {
    throw badModel(manifest, `got ${digests.length} layers of type ${MODEL_LAYER}, expected 1`);
  }
  const hash = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hash === undefined) throw badModel(manifest, `got digest ${digest}, expected sha256:…`);
  return join(ollamaRoot(), 'blobs', `sha256-${hash}`);
}

function prefix(host: string, namespace: string): string {
  if (host !== HOST) return `${host}/${namespace}/`;
  return namespace === NAMESPACE ? '' : `${namespace}/`;
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch {
    return []; // Ollama is not there, or this is a file
  }
}
