import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf } from './bad_model';
import { readModelConfig } from './config';
import { ggufSummary } from './gguf/summary';
import {
  EMBEDDED_NAME,
  embeddedModel,
  hubCache,
  hubSnapshot,
  studioRoots,
  subfolders,
} from './model_dir';
import { ggufModels, hasCheckpoint } from './model_folder';
import { modelBlob, ollamaModels } from './ollama';
import { Quantization, type QuantizedFormat } from './quantization';
import { TOKENIZER_FILE } from './tokenizer_json';

/** A model on this machine. */
export interface InstalledModel {
  /** What `--model` takes: `org/name`, `org/name/file.gguf`, Ollama's `name:tag`, or `sprout`. */
  readonly name: string;
  readonly source: 'embedded' | 'path' | 'downloaded' | 'hugging-face' | 'lm-studio' | 'ollama';
  readonly path: string;
  readonly sizeBytes: number;
  /** `4-bit`, GGUF's `Q4_K`, or the type of unquantized weights; null when unknown. */
  readonly quantization: string | null;
  /** config.json's model_type; null when there is none. */
  readonly modelType: string | null;
  /** Why this engine does not run it; null when it looks as if it does. */
  readonly unsupported: string | null;
}

/**
 * The embedded model, those in a folder of downloads, and those that other programs keep. `modelTypes`: families that
 * run.
 */
export function listModels(modelTypes: readonly string[], downloads?: string): InstalledModel[] {
  return [
    describe(EMBEDDED_NAME, 'embedded', embeddedModel(), modelTypes),
    ...(downloads === undefined ? [] : organisations(downloads, 'downloaded', modelTypes)),
    ...hubModels(modelTypes),
    ...studioRoots().flatMap((root) => organisations(root, 'lm-studio', modelTypes)),
    ...ollamaModels().map(({ name, manifest }) => ollamaEntry(name, manifest, modelTypes)),
  ];
}

/** model_type of the image models whose language part is one of the families. */
export const IMAGE_MODEL_TYPES = ['gemma3', 'mistral3', 'qwen3_5', 'qwen3_5_moe'];

/** What is at a path: a folder, or a GGUF file. */
export function inspectModel(path: string, modelTypes: readonly string[]): InstalledModel {
  const name = basename(path);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return unreadable(name, 'path', path, `${path} is not there`);
  if (!stat.isDirectory()) return describeGguf(name, 'path', path, modelTypes);
  const [only, ...others] = inFolder(name, 'path', path, modelTypes);
  if (only !== undefined && others.length === 0) return only;
  return unreadable(name, 'path', path, 'several GGUF files: choose one of them');
}

function hubModels(modelTypes: readonly string[]): InstalledModel[] {
  return subfolders(hubCache()).flatMap((folder) => {
    const name = /^models--(.+?)--(.+)$/.exec(folder);
    if (name === null) return [];
    const repository = `${name[1]}/${name[2]}`;
    const path = hubSnapshot(repository);
    return path === null ? [] : inFolder(repository, 'hugging-face', path, modelTypes);
  });
}

/** ORGANISATION/NAME below `root`, which may be missing. */
function organisations(
  root: string,
  source: InstalledModel['source'],
  modelTypes: readonly string[],
): InstalledModel[] {
  return subfolders(root).flatMap((organisation) =>
    subfolders(join(root, organisation)).flatMap((model) => {
      const name = `${organisation}/${model}`;
      return inFolder(name, source, join(root, organisation, model), modelTypes);
    }),
  );
}

/** A folder is one model, or it has several as GGUF files. */
function inFolder(
  name: string,
  source: InstalledModel['source'],
  path: string,
  modelTypes: readonly string[],
): InstalledModel[] {
  const files = ggufModels(path);
  if (files.length === 0 || hasCheckpoint(path)) return [describe(name, source, path, modelTypes)];
  return files.map((file) =>
    describeGguf(
      files.length === 1 ? name : `${name}/${file}`,
      source,
      join(path, file),
      modelTypes,
    ),
  );
}

function ollamaEntry(
  name: string,
  manifest: string,
  modelTypes: readonly string[],
): InstalledModel {
  try {
    return describeGguf(name, 'ollama', modelBlob(manifest), modelTypes);
  } catch (error) {
    return unreadable(name, 'ollama', manifest, error);
  }
}

function describeGguf(
  name: string,
  source: InstalledModel['source'],
  path: string,
  modelTypes: readonly string[],
): InstalledModel {
  try {
    const { sizeBytes, quantization, modelType, architecture, unknownType } = ggufSummary(path);
    const runs = modelType !== null && modelTypes.includes(modelType);
    const ofType = unknownType === null ? null : `tensors of type ${unknownType} are not supported`;
    const unsupported = runs ? ofType : `general.architecture ${architecture} is not supported`;
    return { name, source, path, sizeBytes, quantization, modelType, unsupported };
  } catch (error) {
    return unreadable(name, source, path, error);
  }
}

function unreadable(
  name: string,
  source: InstalledModel['source'],
  path: string,
  error: unknown,
): InstalledModel {
  const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const unknown = { quantization: null, modelType: null, unsupported: messageOf(error) };
  return { name, source, path, sizeBytes, ...unknown };
}

function describe(
  name: string,
  source: InstalledModel['source'],
  path: string,
  modelTypes: readonly string[],
): InstalledModel {
  const files = filesOf(path);
  const sizeBytes = files.reduce((sum, file) => sum + file.size, 0);
  const found = { name, source, path, sizeBytes };
  const has = (test: (file: string) => boolean) => files.some((file) => test(file.name));
  if (!has((file) => file.endsWith('.safetensors'))) {
    const unsupported = 'no safetensors weights and no GGUF file';
    return { ...found, quantization: null, modelType: null, unsupported };
  }
  try {
    const { modelType: outer, reader } = readModelConfig(path);
    const modelType = reader.optionalObject('text_config')?.string('model_type') ?? outer;
    const format = Quantization.parse(reader.file, reader.values).common;
    const dtype = reader.string('torch_dtype', reader.string('dtype', ''));
    const quantization = format === null ? dtype || null : nameOf(format);
    const unsupported = whyNot(modelType, modelTypes, has);
    return { ...found, quantization, modelType, unsupported };
  } catch (error) {
    return { ...found, quantization: null, modelType: null, unsupported: messageOf(error) };
  }
}

function nameOf({ mode, bits }: QuantizedFormat): string {
  return mode === 'affine' ? `${bits}-bit` : mode;
}

function whyNot(
  modelType: string,
  modelTypes: readonly string[],
  has: (test: (file: string) => boolean) => boolean,
): string | null {
  if (!modelTypes.includes(modelType))
    return `model_type ${modelType}; supported: ${modelTypes.join(', ')}`;
  return has((file) => file === TOKENIZER_FILE) ? null : `no ${TOKENIZER_FILE}`;
}

/** Plain files of a folder with their sizes; links that lead nowhere are left out. */
function filesOf(folder: string): { name: string; size: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    return stat?.isFile() === true ? [{ name, size: stat.size }] : [];
  });
}
