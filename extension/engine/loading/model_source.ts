import type { ChatTemplate } from './chat_template';
import type { ModelConfig } from './config';
import type { GenerationConfig } from './generation_config';
import type { KeptTables } from './kept_tables';
import type { Manifest } from './manifest';
import type { Pooling } from './pooling';
import type { TensorStore } from './tensor_store';
import type { Tokenizer, WordTokenizer } from './tokenizer';

/** An open model, whichever format it comes in. Its parts are read on demand and throw EngineError. */
export interface ModelSource {
  /** Absolute path of the folder or file. */
  readonly path: string;
  readonly weights: TensorStore;
  config(): ModelConfig;
  /** `kept`: where what takes long to read is kept for the next time. */
  tokenizer(kept?: KeptTables): WordTokenizer;
  generationConfig(tokenizer: Tokenizer): GenerationConfig;
  manifest(): Manifest;
  /** How the model makes embeddings; null: its authors do not say. */
  pooling(): Pooling | null;
  chatTemplate(tokenizer: Tokenizer): ChatTemplate | null;
  close(): void;
}
