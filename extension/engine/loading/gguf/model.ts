import { basename } from 'node:path';
import { badModel } from '../bad_model';
import { ChatTemplate } from '../chat_template';
import type { ModelConfig } from '../config';
import { ConfigReader } from '../config_reader';
import type { GenerationConfig } from '../generation_config';
import { type KeptTables, tablesName } from '../kept_tables';
import type { Manifest } from '../manifest';
import type { ModelSource } from '../model_source';
import { ggufPooling, type Pooling } from '../pooling';
import type { Tokenizer, WordTokenizer } from '../tokenizer';
import { ggufConfig, type GgufConfig } from './config';
import { ggufFim, ggufGeneration } from './generation';
import type { GgufFile } from './gguf_file';
import type { GgufMetadata } from './metadata';
import { openGgufParts } from './split';
import { GgufStore } from './store';
import type { GgufTensor } from './tensor_infos';
import { ggufTokenizer } from './tokenizer';
import { readControlIds } from './vocabulary';

/** Most values of a tensor that the config reads itself. */
const MAX_CONFIG_VALUES = 4_096;

/** A model in one GGUF file, or in several parts. */
export class GgufModel implements ModelSource {
  readonly weights: GgufStore;
  private readonly translated: GgufConfig;

  private constructor(
    readonly path: string,
    private readonly metadata: GgufMetadata,
    private readonly parts: readonly GgufFile[],
  ) {
    const tensors = new Map(parts.flatMap((part) => [...part.tensors]));
    this.translated = ggufConfig(path, metadata, tensors, (tensor) => this.values(tensor));
    const { architecture, unusedLayers } = this.translated;
    this.weights = new GgufStore(parts, architecture.names ?? {}, unusedLayers);
  }

  /** Throws EngineError bad_model or unsupported. The caller closes the model. */
  static open(path: string): GgufModel {
    const parts = openGgufParts(path);
    try {
      const [first] = parts;
      if (first === undefined) throw badModel(path, 'missing');
      return new GgufModel(first.path, first.metadata, parts);
    } catch (error) {
      for (const part of parts) part.close();
      throw error;
    }
  }

  config(): ModelConfig {
    return this.translated.config;
  }

  tokenizer(kept?: KeptTables): WordTokenizer {
    const [first] = this.parts;
    const place =
      kept === undefined || first === undefined
        ? null
        : { kept, name: tablesName(`gguf ${first.identity()}`) };
    return ggufTokenizer(this.path, this.metadata, place);
  }

  generationConfig(tokenizer: Tokenizer): GenerationConfig {
    return ggufGeneration(this.path, this.metadata, tokenizer);
  }

  manifest(): Manifest {
    const reader = new ConfigReader(this.path, Object.fromEntries(this.metadata));
    const file = basename(this.path, '.gguf');
    // What converters write as its name is often that of another model; Ollama's files are named by a digest.
    const title = /^sha256-/.test(file) ? reader.string('general.name', 'GGUF') : file;
    return { title, fim: ggufFim(this.path, this.metadata) };
  }

  pooling(): Pooling | null {
    return ggufPooling(this.metadata);
  }

  chatTemplate(tokenizer: Tokenizer): ChatTemplate | null {
    const source = this.metadata.get('tokenizer.chat_template');
    if (typeof source !== 'string') return null;
    const ids = readControlIds(this.path, this.metadata);
    const named = [
      ['bos_token', ids.get('bos_token_id')],
      ['eos_token', ids.get('eos_token_id')],
      ['pad_token', ids.get('padding_token_id')],
    ] as const;
    const texts = named.flatMap(([name, id]): [string, string][] =>
      id === undefined ? [] : [[name, tokenizer.decode([id])]],
    );
    return ChatTemplate.of(this.path, source, Object.fromEntries(texts), tokenizer);
  }

  close(): void {
    this.weights.close();
  }

  /** The values of a small float32 tensor. */
  private values({ name, type, file, offset, byteLength }: GgufTensor): readonly number[] {
    const part = this.parts.find(({ path }) => path === file);
    if (part === undefined || type.name !== 'F32' || byteLength > 4 * MAX_CONFIG_VALUES) {
      throw badModel(file, `${name}: expected at most ${MAX_CONFIG_VALUES} values as F32`);
    }
    return [...new Float32Array(part.read(offset, byteLength).buffer)];
  }
}
