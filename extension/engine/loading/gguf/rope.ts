import { unsupportedModel } from '../bad_model';
import type { ConfigReader } from '../config_reader';
import type { JsonObject } from '../json_file';
import type { GgufTensor } from './tensor_infos';

const THETA = { min: 1, max: 1e12 };
const FACTOR = { min: 1, max: 10_000 };
const CONTEXT = { min: 1, max: 1 << 26 };
const POSITIVE = { min: 1e-6, max: 1e6 };
const DIMENSION = { min: 2, max: 1_024 };
/** Divisors of the frequencies: what converters make of Llama 3's scaling. */
const FREQUENCY_FACTORS = 'rope_freqs.weight';
/** LongRoPE's, for long contexts and short ones. */
const LONG_FACTORS = 'rope_factors_long.weight';
const SHORT_FACTORS = 'rope_factors_short.weight';

/** What is so of an architecture where its files do not say. */
export interface GgufRopeDefaults {
  /** YaRN's range of pairs is rounded to whole ones; default true. */
  readonly yarnTruncate?: boolean;
  /** How positions are scaled where there is a factor without a type; default not at all. */
  readonly scaling?: 'none' | 'yarn';
}

/** The keys of config.json about the rotary embedding. `values`: reads a small tensor. */
export function readGgufRope(
  meta: ConfigReader,
  tensors: ReadonlyMap<string, GgufTensor>,
  values: (tensor: GgufTensor) => readonly number[],
  defaults: GgufRopeDefaults,
): JsonObject {
  const factors = tensors.get(FREQUENCY_FACTORS);
  const scaling = readScaling(meta, tensors, values, defaults);
  return {
    rope_theta: meta.optionalFloat('rope.freq_base', THETA),
    partial_rotary_factor: partOfHead(meta),
    rope_scaling:
      factors === undefined
        ? scaling
        : { rope_type: 'frequency_factors', factors: values(factors) },
  };
}

function partOfHead(meta: ConfigReader): number | null {
  const rotated = meta.optionalInt('rope.dimension_count', DIMENSION);
  // Of DeepSeek's latent heads, a part of their own is rotated as a whole.
  if (rotated === null || meta.has('attention.kv_lora_rank')) return null;
  const hidden = meta.int('embedding_length', { min: 1, max: 1 << 22 });
  const heads = meta.int('attention.head_count', { min: 1, max: 1 << 20 });
  const head = meta.optionalInt('attention.key_length', DIMENSION) ?? hidden / heads;
  return rotated / head;
}

function readScaling(
  meta: ConfigReader,
  tensors: ReadonlyMap<string, GgufTensor>,
  values: (tensor: GgufTensor) => readonly number[],
  { yarnTruncate: truncate = true, scaling = 'none' }: GgufRopeDefaults,
): JsonObject | null {
  const linear = meta.optionalFloat('rope.scale_linear', FACTOR); // of the first version of the format
  const fallback = meta.has('rope.scaling.factor') ? scaling : 'none';
  const type = meta.oneOf('rope.scaling.type', ['none', 'linear', 'yarn', 'longrope'], fallback);
  const original = meta.optionalInt('rope.scaling.original_context_length', CONTEXT);
  const [short, long] = [tensors.get(SHORT_FACTORS), tensors.get(LONG_FACTORS)];
  if (short !== undefined && long !== undefined) {
    meta.ignore('rope.scaling.factor'); // what the attention's factor was computed of
    return {
      rope_type: 'longrope',
      short_factor: values(short),
      long_factor: values(long),
      original_max_position_embeddings: original,
      attention_factor: meta.optionalFloat('rope.scaling.attn_factor', POSITIVE),
    };
  }
  if (type === 'longrope') {
    const problem = `rope.scaling.type longrope without ${SHORT_FACTORS} and ${LONG_FACTORS}`;
    throw meta.error(problem);
  }
  if (linear !== null && linear !== 1) return { rope_type: 'linear', factor: linear };
  if (type === 'none') return null;
  const factor = meta.float('rope.scaling.factor', FACTOR);
  if (type === 'linear') return { rope_type: 'linear', factor };
  return { ...readYarn(meta), factor, truncate, original_max_position_embeddings: original };
}

function readYarn(meta: ConfigReader): JsonObject {
  // DeepSeek's second temperature, of which converters write a tenth.
  const logMultiplier = meta.optionalFloat('rope.scaling.yarn_log_multiplier', { min: 0, max: 10 });
  const all = logMultiplier === null ? null : 10 * logMultiplier;
  const extrapolation = meta.float('rope.scaling.yarn_ext_factor', POSITIVE, 1);
  if (extrapolation !== 1) {
    throw unsupportedModel(meta.file, `rope.scaling.yarn_ext_factor ${extrapolation}: expected 1`);
  }
  return {
    rope_type: 'yarn',
    beta_fast: meta.float('rope.scaling.yarn_beta_fast', POSITIVE, 32),
    beta_slow: meta.float('rope.scaling.yarn_beta_slow', POSITIVE, 1),
    // What is computed of the scaling is multiplied by both, as by DeepSeek-R1-0528-Qwen3's attn_factor.
    attn_factor:
      meta.float('rope.scaling.yarn_attn_factor', POSITIVE, 1) *
      meta.float('rope.scaling.attn_factor', POSITIVE, 1),
    ...(all !== null && { mscale: all, mscale_all_dim: all }),
  };
}
