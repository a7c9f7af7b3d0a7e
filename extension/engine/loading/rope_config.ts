import type { ConfigReader, Range } from './config_reader';

/** Rotary position embedding as config.json declares it; core/rope.ts computes with it. */
export type RopeConfig = RopeBase & RopeScaling;

interface RopeBase {
  /** Base of the geometric series of wavelengths. */
  readonly theta: number;
  /** Part of a head's columns that is rotated, in (0, 1]. */
  readonly rotaryFraction: number;
  /** Whether pairs are neighbouring columns; absent = as the family says. */
  readonly interleaved?: boolean;
}

type RopeScaling =
  | { readonly type: 'default' }
  | { readonly type: 'linear'; readonly factor: number }
  /** Each pair's frequency has a divisor: what GGUF files hold in place of llama3's parameters. */
  | { readonly type: 'frequency_factors'; readonly factors: readonly number[] }
  /** Divisors for contexts of up to `originalContext` tokens, and others for longer ones. */
  | {
      readonly type: 'longrope';
      readonly shortFactors: readonly number[];
      readonly longFactors: readonly number[];
      readonly originalContext: number;
      /** Factor on cos and sin. */
      readonly attentionFactor: number;
    }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalContext: number;
    }
  | {
      readonly type: 'yarn';
      readonly factor: number;
      readonly originalContext: number;
      readonly betaFast: number;
      readonly betaSlow: number;
      /** Factor on cos and sin; null = computed from `factor`. */
      readonly attentionFactor: number | null;
      /** One more on the computed factor. */
      readonly attentionMultiplier: number;
      readonly mscale: number;
      readonly mscaleAllDim: number;
      /** Whether the correction range is rounded to whole pairs. */
      readonly truncate: boolean;
    };

/** 'mrope' is left out on purpose: it needs positions of images. */
const TYPES = [
  'default',
  'dynamic',
  'linear',
  'frequency_factors',
  'llama3',
  'yarn',
  'longrope',
  'su', // its first name
] as const;
const THETA: Range = { min: 1, max: 1e12 };
const FACTOR: Range = { min: 1, max: 10_000 };
const CONTEXT: Range = { min: 1, max: 1e9 };
const POSITIVE: Range = { min: Number.MIN_VALUE, max: 1e6 };
const FRACTION: Range = { min: Number.MIN_VALUE, max: 1 };
const DEFAULT_THETA = 10_000;

/** A family's values for keys that config.json may leave out. */
export interface RopeDefaults {
  readonly theta?: number;
  readonly rotaryFraction?: number;
  /** Tokens that the model was first trained with, where config.json says so outside of the rope's keys. */
  readonly originalContext?: number;
}

/**
 * Reads both forms of config.json: `rope_theta` with `rope_scaling` {type or rope_type, …}, and the newer
 * `rope_parameters` {rope_type, rope_theta, …}. `maxPositions`: max_position_embeddings.
 */
export function readRope(
  config: ConfigReader,
  maxPositions: number,
  defaults: RopeDefaults = {},
): RopeConfig {
  const theta = config.optionalFloat('rope_theta', THETA);
  const fraction = config.optionalFloat('partial_rotary_factor', FRACTION);
  const layout = config.has('rope_interleave')
    ? { interleaved: config.bool('rope_interleave') }
    : {};
  const original = config.optionalInt('original_max_position_embeddings', CONTEXT);
  const parameters = config.optionalObject('rope_parameters');
  if (parameters === null) {
    const base = {
      ...layout,
      theta: theta ?? defaults.theta ?? DEFAULT_THETA,
      rotaryFraction: fraction ?? defaults.rotaryFraction ?? 1,
    };
    const scaling = config.optionalObject('rope_scaling');
    return scaling === null
      ? { ...base, type: 'default' }
      : { ...base, ...readScaling(scaling, maxPositions, original) };
  }
  config.ignore('rope_scaling'); // newer exporters may write both forms, and read rope_parameters
  const rope = readRopeParameters(parameters, maxPositions, {
    ...defaults,
    ...(theta === null ? {} : { theta }),
    ...(fraction === null ? {} : { rotaryFraction: fraction }),
    ...(original === null ? {} : { originalContext: original }),
  });
  if (theta !== null && theta !== rope.theta) {
    throw config.error(`rope_theta ${theta} contradicts rope_parameters.rope_theta ${rope.theta}`);
  }
  return { ...rope, ...layout };
}

/** Reads one `rope_parameters` object; families with several kinds of layers have one for each kind. */
export function readRopeParameters(
  parameters: ConfigReader,
  maxPositions: number,
  defaults: RopeDefaults = {},
): RopeConfig {
  // Text stands at equal positions on all axes of an image model's rotary embedding, so its sections do not matter.
  parameters.ignore('mrope_section', 'mrope_interleaved');
  return {
    theta: parameters.float('rope_theta', THETA, defaults.theta ?? DEFAULT_THETA),
    rotaryFraction: parameters.float(
      'partial_rotary_factor',
      FRACTION,
      defaults.rotaryFraction ?? 1,
    ),
    ...readScaling(parameters, maxPositions, defaults.originalContext ?? null),
  };
}

function readScaling(
  reader: ConfigReader,
  maxPositions: number,
  original: number | null,
): RopeScaling {
  const typeKey = reader.has('rope_type') || !reader.has('type') ? 'rope_type' : 'type';
  const type = reader.oneOf(typeKey, TYPES, 'default');
  reader.ignore('type'); // a copy of rope_type for older readers
  reader.ignore('finetuned'); // tells of training
  switch (type) {
    case 'default':
      return { type };
    case 'dynamic': // scales beyond max_position_embeddings, where no text gets to
      reader.ignore('factor', 'original_max_position_embeddings');
      return { type: 'default' };
    case 'linear':
      return { type, factor: reader.float('factor', FACTOR) };
    case 'frequency_factors':
      return { type, factors: reader.floats('factors', POSITIVE) };
    case 'llama3':
      return readLlama3(reader, maxPositions);
    case 'yarn':
      return readYarn(reader, maxPositions);
    case 'longrope':
    case 'su':
      return readLongRope(reader, maxPositions, original);
  }
}

function readLlama3(reader: ConfigReader, maxPositions: number): RopeScaling {
  const factor = reader.float('factor', FACTOR);
  const lowFreqFactor = reader.float('low_freq_factor', POSITIVE);
  const highFreqFactor = reader.float('high_freq_factor', POSITIVE);
  if (lowFreqFactor >= highFreqFactor) {
    throw reader.error(
      `low_freq_factor ${lowFreqFactor} is not below high_freq_factor ${highFreqFactor}`,
    );
  }
  const originalContext = reader.int('original_max_position_embeddings', CONTEXT, maxPositions);
  return { type: 'llama3', factor, lowFreqFactor, highFreqFactor, originalContext };
}

function readYarn(reader: ConfigReader, maxPositions: number): RopeScaling {
  return {
    type: 'yarn',
    factor: reader.float('factor', FACTOR),
    originalContext: reader.int('original_max_position_embeddings', CONTEXT, maxPositions),
    betaFast: reader.float('beta_fast', POSITIVE, 32),
    betaSlow: reader.float('beta_slow', POSITIVE, 1),
    attentionFactor: reader.optionalFloat('attention_factor', POSITIVE),
    attentionMultiplier: reader.float('attn_factor', POSITIVE, 1),
    mscale: reader.float('mscale', { min: 0, max: 100 }, 0),
    mscaleAllDim: reader.float('mscale_all_dim', { min: 0, max: 100 }, 0),
    truncate: reader.bool('truncate', true),
  };
}

/** LongRoPE (https://arxiv.org/abs/2402.13753) as Phi-3 has it. */
function readLongRope(
  reader: ConfigReader,
  maxPositions: number,
  original: number | null,
): RopeScaling {
  const originalContext = reader.int(
    'original_max_position_embeddings',
    { min: 2, max: CONTEXT.max },
    original ?? undefined,
  );
  const stretch = reader.float('factor', FACTOR, Math.max(1, maxPositions / originalContext));
  return {
    type: 'longrope',
    shortFactors: reader.floats('short_factor', POSITIVE),
    longFactors: reader.floats('long_factor', POSITIVE),
    originalContext,
    attentionFactor: reader.float(
      'attention_factor',
      POSITIVE,
      Math.sqrt(1 + Math.log(stretch) / Math.log(originalContext)),
    ),
  };
}
