import { amount, list, nullable, object, oneOf, text, type Check } from './check';

/** path: named in the settings, and kept by nobody else. */
export const MODEL_SOURCES = [
  'embedded',
  'path',
  'downloaded',
  'hugging-face',
  'lm-studio',
  'ollama',
] as const;
export type ModelSource = (typeof MODEL_SOURCES)[number];

export interface ListModelsRequest {
  /** Folder of what anllm downloaded, as ORGANISATION/NAME below it; it may be missing. */
  readonly downloads: string;
}

/** A model that some program keeps on this computer. */
export interface InstalledModel {
  readonly name: string;
  readonly source: ModelSource;
  /** Folder or GGUF file. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly quantization: string | null;
  readonly modelType: string | null;
  /** Why the engine does not run it; null when it looks as if it does. */
  readonly unsupported: string | null;
}

/** What the engine can load, to tell which models of a hub it runs. */
export interface Families {
  /** model_type of config.json, those of image models with such a language part included. */
  readonly modelTypes: readonly string[];
  /** general.architecture of GGUF files. */
  readonly ggufArchitectures: readonly string[];
}

export interface InspectModelRequest {
  /** Folder or GGUF file. */
  readonly path: string;
}

const line = text(8192);
const MAX_MODELS = 4096;

export const checkListModelsRequest: Check<ListModelsRequest> = object<ListModelsRequest>({
  downloads: line,
});

export const checkInspectModelRequest: Check<InspectModelRequest> = object<InspectModelRequest>({
  path: line,
});

export const checkInstalledModel: Check<InstalledModel> = object<InstalledModel>({
  name: line,
  source: oneOf(MODEL_SOURCES),
  path: line,
  sizeBytes: amount,
  quantization: nullable(line),
  modelType: nullable(line),
  unsupported: nullable(line),
});

export const checkInstalledModels: Check<readonly InstalledModel[]> = list(
  checkInstalledModel,
  MAX_MODELS,
);

export const checkFamilies: Check<Families> = object<Families>({
  modelTypes: list(line, MAX_MODELS),
  ggufArchitectures: list(line, MAX_MODELS),
});
