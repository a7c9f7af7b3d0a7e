import { quote, unsupportedModel } from '../bad_model';
import type { ModelConfig } from '../config';
import { ConfigReader } from '../config_reader';
import type { JsonObject } from '../json_file';
import { type Architecture, ARCHITECTURES, type GgufContents } from './architectures';
import type { GgufMetadata } from './metadata';
import { readGgufRope } from './rope';
import type { GgufTensor } from './tensor_infos';

const LAYERS = { min: 1, max: 1_024 };
const AHEAD = { min: 0, max: 64 };
const SIZE = { min: 1, max: 1 << 22 };
const EPSILON = { min: 1e-12, max: 0.1 };

/** Of a tower for images in the same file, and of the places of images in a text. */
const OF_PICTURES =
  /^(?:vision|mm|audio)[._]|^image_token_id$|^mrope_sections$|^rope\.mrope_(?:section|interleaved)$/;

/** What the metadata of a GGUF file say of the model. */
export interface GgufConfig {
  readonly architecture: Architecture;
  /** In the words of config.json, for the families of core/models. */
  readonly config: ModelConfig;
  /** Layers for predicting several tokens at once: this engine guesses ahead in other ways. */
  readonly unusedLayers: readonly number[];
}

/**
 * Translates the metadata. `values`: reads a small float32 tensor. Throws EngineError unsupported for another
 * architecture and for a key of it that nobody knows: it may change what the model computes.
 */
export function ggufConfig(
  file: string,
  metadata: GgufMetadata,
  tensors: ReadonlyMap<string, GgufTensor>,
  values: (tensor: GgufTensor) => readonly number[],
): GgufConfig {
  const name = architectureName(file, metadata);
  const architecture = ARCHITECTURES[name];
  if (architecture === undefined) {
    const known = Object.keys(ARCHITECTURES).sort().join(', ');
    throw unsupportedModel(
      file,
      `general.architecture ${quote(name)} is not supported; supported: ${known}`,
    );
  }
  const meta = architectureReader(file, metadata, name);
  const ahead = meta.optionalInt('nextn_predict_layers', AHEAD) ?? 0;
  const layers = meta.int('block_count', LAYERS) - ahead;
  const contents: GgufContents = {
    meta,
    layers,
    hasTensor: (tensor) => tensors.has(tensor),
    shapeOf: (tensor) => tensors.get(tensor)?.shape ?? null,
  };
  const json: JsonObject = {
    model_type: architecture.modelType,
    ...commonKeys(contents, tensors),
    ...readGgufRope(meta, tensors, values, architecture.rope ?? {}),
    ...architecture.config(contents),
  };
  meta.assertAllRead();
  const reader = new ConfigReader(file, withoutNulls(json));
  const unusedLayers = Array.from({ length: ahead }, (_, i) => layers + i);
  return { architecture, config: { modelType: reader.string('model_type'), reader }, unusedLayers };
}

/** `general.architecture`. */
export function architectureName(file: string, metadata: GgufMetadata): string {
  const reader = new ConfigReader(file, Object.fromEntries(metadata));
  return reader.string('general.architecture');
}

/** The keys of one architecture, without their prefix. */
function architectureReader(file: string, metadata: GgufMetadata, name: string): ConfigReader {
  const prefix = `${name}.`;
  const own = [...metadata].filter(([key]) => key.startsWith(prefix));
  const values = own.map(([key, value]): [string, unknown] => [key.slice(prefix.length), value]);
  return new ConfigReader(file, Object.fromEntries(values), prefix);
}

function commonKeys(
  { meta, layers }: GgufContents,
  tensors: ReadonlyMap<string, GgufTensor>,
): JsonObject {
  const { file } = meta;
  // The rows of the embedding are what the file has; vocab_size repeats them.
  meta.ignore('vocab_size', 'tensor_data_layout', 'rope.scaling.finetuned', 'file_type');
  meta.ignore('pooling_type'); // of embeddings, which `ggufPooling` reads
  meta.ignore('attention.head_dim'); // Ollama's, beside key_length
  meta.ignore(...Object.keys(meta.values).filter((key) => OF_PICTURES.test(key)));
  if (!meta.bool('attention.causal', true)) {
    throw unsupportedModel(file, 'attention.causal false: expected a model that generates text');
  }
  const vocabSize = tensors.get('token_embd.weight')?.shape[0];
  return {
    vocab_size: vocabSize ?? meta.int('vocab_size', SIZE),
    hidden_size: meta.int('embedding_length', SIZE),
    intermediate_size: meta.optionalInt('feed_forward_length', SIZE),
    num_hidden_layers: layers,
    num_attention_heads: meta.int('attention.head_count', SIZE),
    num_key_value_heads: kvHeads(meta),
    head_dim: headDim(meta),
    max_position_embeddings: meta.int('context_length', { min: 1, max: 1 << 26 }),
    rms_norm_eps: meta.optionalFloat('attention.layer_norm_rms_epsilon', EPSILON),
    norm_epsilon: meta.optionalFloat('attention.layer_norm_epsilon', EPSILON),
    tie_word_embeddings: !tensors.has('output.weight'),
  };
}

/** One number, or Ollama's list with 0 for layers without attention. */
function kvHeads(meta: ConfigReader): number | null {
  const key = 'attention.head_count_kv';
  if (!Array.isArray(meta.values[key])) return meta.optionalInt(key, SIZE);
  const counts = new Set(meta.optionalInts(key, { min: 0, max: SIZE.max }));
  counts.delete(0);
  const [count, ...others] = counts;
  if (count !== undefined && others.length === 0) return count;
  throw meta.error(
    `${key}: got ${[...counts].join(', ') || 'none'}, expected the same in all layers`,
  );
}

/** Width of a head, null when it is hidden / heads. The latent heads of DeepSeek have keys of their own. */
function headDim(meta: ConfigReader): number | null {
  const key = meta.optionalInt('attention.key_length', SIZE);
  const value = meta.optionalInt('attention.value_length', SIZE);
  const isLatent = meta.has('attention.kv_lora_rank');
  if (isLatent) return null;
  if (key !== value) {
    throw meta.error(`attention.value_length ${value}: expected attention.key_length ${key}`);
  }
  return key;
}

function withoutNulls(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}
