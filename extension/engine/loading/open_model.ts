import { ChatTemplate } from './chat_template';
import { openCheckpoint } from './checkpoint';
import { readModelConfig } from './config';
import { readGenerationConfig } from './generation_config';
import { GgufModel } from './gguf/model';
import { readManifest } from './manifest';
import { ggufInFolder, isGgufFile } from './model_folder';
import type { ModelSource } from './model_source';
import { readPooling } from './pooling';
import { loadTokenizer } from './tokenizer';

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
    tokenizer: (kept) => loadTokenizer(path, kept),
    generationConfig: (tokenizer) => readGenerationConfig(path, tokenizer),
    manifest: () => readManifest(path),
    pooling: () => readPooling(path),
    chatTemplate: (tokenizer) => ChatTemplate.load(path, tokenizer),
    close: () => weights.close(),
  };
}
