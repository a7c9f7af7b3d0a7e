import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { badModel } from './bad_model';
import { ConfigReader } from './config_reader';
import { readJsonObject } from './json_file';
import { allowedRoot } from './model_file';
import { assertModelFolder, CONFIG_FILE } from './model_folder';
import { readRope, type RopeConfig, type RopeDefaults } from './rope_config';

export { CONFIG_FILE };
/** Real ones have a few kilobytes; label lists of classifiers reach some hundred. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

/** Sizes of a decoder-only model. */
export interface DecoderShape {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  /** Columns of one head; not always hiddenSize / numHeads. */
  readonly headDim: number;
  readonly vocabSize: number;
  /** Tokens. */
  readonly contextLength: number;
  readonly tieWordEmbeddings: boolean;
}

/** What every decoder-only family declares. Families read the rest from `reader`. */
export interface DecoderConfig extends DecoderShape {
  readonly rope: RopeConfig;
}

/** A family's values for keys that config.json may leave out. */
export type DecoderDefaults = Partial<DecoderShape> & RopeDefaults;

/** A config.json whose family is still to be chosen. */
export interface ModelConfig {
  /** Key of the registry of families. */
  readonly modelType: string;
  readonly reader: ConfigReader;
}

const LIMITS = {
  hidden_size: { min: 1, max: 65_536 },
  intermediate_size: { min: 1, max: 1 << 20 },
  num_hidden_layers: { min: 1, max: 1_024 },
  num_attention_heads: { min: 1, max: 1_024 },
  head_dim: { min: 2, max: 1_024 },
  vocab_size: { min: 1, max: 1 << 22 },
  max_position_embeddings: { min: 1, max: 1 << 26 },
} as const;

/** Reads the config.json of a model folder. Throws EngineError bad_model. */
export function readModelConfig(folder: string): ModelConfig {
  assertModelFolder(folder);
  const file = join(folder, CONFIG_FILE);
  if (!existsSync(file))
    throw badModel(file, 'missing: a model folder has config.json, tokenizer.json and weights');
  const reader = new ConfigReader(
    file,
    readJsonObject(file, allowedRoot(folder), MAX_CONFIG_BYTES),
  );
  return { modelType: reader.string('model_type'), reader };
}

/** Reads and checks the keys that all decoder families share. */
export function readDecoderConfig(
  config: ConfigReader,
  defaults: DecoderDefaults = {},
): DecoderConfig {
  const shape = readDecoderShape(config, defaults);
  const rope = readRope(config, shape.contextLength, defaults);
  if ((shape.headDim * rope.rotaryFraction) % 2 !== 0) {
    throw config.error(
      `partial_rotary_factor ${rope.rotaryFraction} of head_dim ${shape.headDim} is not a number of pairs`,
    );
  }
  return { ...shape, rope };
}

/** `readDecoderConfig` without the rotary embedding, for families that declare several. */
export function readDecoderShape(
  config: ConfigReader,
  defaults: DecoderDefaults = {},
): DecoderShape {
  const hiddenSize = config.int('hidden_size', LIMITS.hidden_size, defaults.hiddenSize);
  const numHeads = config.int('num_attention_heads', LIMITS.num_attention_heads, defaults.numHeads);
  const numKvHeads = config.int(
    'num_key_value_heads',
    LIMITS.num_attention_heads,
    defaults.numKvHeads ?? numHeads,
  );
  if (numHeads % numKvHeads !== 0) {
    throw config.error(
      `num_attention_heads ${numHeads} is not a multiple of num_key_value_heads ${numKvHeads}`,
    );
  }
  const { headDim: defaultHeadDim = hiddenSize / numHeads } = defaults;
  if (!config.has('head_dim') && !Number.isInteger(defaultHeadDim)) {
    throw config.error(
      `hidden_size ${hiddenSize} is not a multiple of num_attention_heads ${numHeads}`,
    );
  }
  const headDim = config.int('head_dim', LIMITS.head_dim, defaultHeadDim);
  if (headDim % 2 !== 0)
    throw config.error(`head_dim ${headDim} must be even: rotary embedding turns pairs`);
  return {
    hiddenSize,
    intermediateSize: config.int(
      'intermediate_size',
      LIMITS.intermediate_size,
      defaults.intermediateSize,
    ),
    numLayers: config.int('num_hidden_layers', LIMITS.num_hidden_layers, defaults.numLayers),
    numHeads,
    numKvHeads,
    headDim,
    vocabSize: config.int('vocab_size', LIMITS.vocab_size, defaults.vocabSize),
    contextLength: config.int(
      'max_position_embeddings',
      LIMITS.max_position_embeddings,
      defaults.contextLength,
    ),
    tieWordEmbeddings: config.bool('tie_word_embeddings', defaults.tieWordEmbeddings ?? false),
  };
}

/** config.json's names of activation functions. */
const ACTIVATIONS = {
  silu: 'silu',
  swish: 'silu',
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  relu: 'relu',
} as const;
type ActivationName = keyof typeof ACTIVATIONS;

/** Reads the activation function of the feed-forward layers. */
export function readActivation(
  config: ConfigReader,
  key = 'hidden_act',
  fallback?: ActivationName,
): (typeof ACTIVATIONS)[ActivationName] {
  return ACTIVATIONS[config.oneOf(key, Object.keys(ACTIVATIONS) as ActivationName[], fallback)];
}

/** Reads the epsilon of the norms. */
export function readNormEpsilon(
  config: ConfigReader,
  key = 'rms_norm_eps',
  fallback?: number,
): number {
  return config.float(key, { min: 1e-12, max: 0.1 }, fallback);
}
