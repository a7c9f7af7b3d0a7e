import { ChatTemplate } from './chat_template';
import { openCheckpoint } from './checkpoint';
import { type ModelConfig, readModelConfig } from './config';
import { type GenerationConfig, readGenerationConfig } from './generation_config';
import { GgufModel } from './gguf/model';
import { type Manifest, readManifest } from './manifest';
import { ggufInFolder, isGgufFile } from './model_folder';
import { type Pooling, readPooling } from './pooling';
import type { TensorStore } from './tensor_store';
import { loadTokenizer, type Tokenizer } from './tokenizer';

/** An open model, whichever format it comes in. Its parts are read on demand and throw EngineError. */
export interface ModelSource {
  /** Absolute path of the folder or file. */
  readonly path: string;
  readonly weights: TensorStore;
  config(): ModelConfig;
  tokenizer(): Tokenizer;
  generationConfig(tokenizer: Tokenizer): GenerationConfig;
  manifest(): Manifest;
  /** How the model makes embeddings; null: its authors do not say. */
  pooling(): Pooling | null;
  chatTemplate(tokenizer: Tokenizer): ChatTemplate | null;
  close(): void;
}

/**
 * Opens a model folder (config.json, tokenizer.json, safetensors), a GGUF file, or a folder with one GGUF model. Throws
 * EngineError bad_model or unsupported; the caller closes the model.
 */
export function openModel(path: string): ModelSource {
  const gguf = isGgufFile(path) ? path : ggufInFolder(path);
  return gguf === null ? openFolder(path) : GgufModel.open(gguf);
}

function openFolder(path: string): ModelSource {
  const weights = openCheckpoint(path);
  return {
    path,
    weights,
    config: () => readModelConfig(path),
    tokenizer: () => loadTokenizer(path),
    generationConfig: (tokenizer) => readGenerationConfig(path, tokenizer),
    manifest: () => readManifest(path),
    pooling: () => readPooling(path),
    chatTemplate: (tokenizer) => ChatTemplate.load(path, tokenizer),
    close: () => weights.close(),
  };
}
