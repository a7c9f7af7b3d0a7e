import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unsupportedModel } from './bad_model';
import { ConfigReader } from './config_reader';
import type { GgufMetadata } from './gguf/metadata';
import { readJsonObject } from './json_file';
import { allowedRoot } from './model_file';

/** How the hidden states of a text become one vector: their mean, or that of the last token. */
export type Pooling = 'mean' | 'last';

const POOLING_FILE = join('1_Pooling', 'config.json');
const MAX_BYTES = 64 * 1024;
/** llama.cpp's enum llama_pooling_type; 0 is none. */
const GGUF_TYPES: readonly (Pooling | null)[] = [null, 'mean', null, 'last'];

/** What an embedding model's authors say, as sentence-transformers writes it; null where they say nothing. */
export function readPooling(folder: string): Pooling | null {
  const file = join(folder, POOLING_FILE);
  if (!existsSync(file)) return null;
  const reader = new ConfigReader(file, readJsonObject(file, allowedRoot(folder), MAX_BYTES));
  if (reader.bool('pooling_mode_lasttoken', false)) return 'last';
  if (reader.bool('pooling_mode_mean_tokens', false)) return 'mean';
  throw unsupportedModel(file, 'expected pooling_mode_lasttoken or pooling_mode_mean_tokens true');
}

/** The same of a GGUF file; null also for models without pooling. */
export function ggufPooling(metadata: GgufMetadata): Pooling | null {
  const type = metadata.get(`${String(metadata.get('general.architecture'))}.pooling_type`);
  return typeof type === 'number' ? (GGUF_TYPES[type] ?? null) : null;
}
