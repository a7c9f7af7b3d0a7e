import { readActivation, type DecoderShape } from '../../loading/config';
import type { ConfigReader } from '../../loading/config_reader';
import { readRope, readRopeParameters, type RopeConfig } from '../../loading/rope_config';
import type { Activation, RopeSpec } from '../program';
import { ropeSpec } from '../rope';

/** Gemma's first configs say hidden_act "gelu" and mean the tanh form; hidden_activation is the newer key. */
export function readGemmaActivation(reader: ConfigReader): Activation {
  if (reader.has('hidden_activation')) {
    reader.ignore('hidden_act');
    return readActivation(reader, 'hidden_activation');
  }
  const activation = readActivation(reader, 'hidden_act', 'gelu_pytorch_tanh');
  return activation === 'gelu' ? 'gelu_tanh' : activation;
}

/** What is added to the weights of the norms: 1, unless a converter has done it. */
export function readGemmaOffset(reader: ConfigReader): number {
  return reader.float('rms_norm_offset', { min: 0, max: 1 }, 1);
}

/** Multiplier and soft caps of attention scores and logits. */
export function readGemmaScores(
  reader: ConfigReader,
  defaults: { scores: number | null; logits: number | null },
): { scale: number; scoreCap: number | null; logitCap: number | null } {
  const positive = { min: 1e-3, max: 1e6 };
  const cap = (key: string, fallback: number | null) =>
    reader.isGiven(key) ? reader.optionalFloat(key, positive) : fallback;
  return {
    scale: 1 / Math.sqrt(reader.float('query_pre_attn_scalar', positive, 256)),
    scoreCap: cap('attn_logit_softcapping', defaults.scores),
    logitCap: cap('final_logit_softcapping', defaults.logits),
  };
}

/** Every how many layers a Gemma 3 layer is global. */
export function readPatternPeriod(reader: ConfigReader): number {
  const key = reader.has('sliding_window_pattern')
    ? 'sliding_window_pattern'
    : '_sliding_window_pattern';
  return reader.int(key, { min: 1, max: 1 << 20 }, 6);
}

/**
 * Gemma 3's two rotary embeddings: `rope_parameters` with one entry a kind of layer, or the older form, where
 * rope_theta and rope_scaling are of the global layers and rope_local_base_freq of the sliding ones.
 */
export function readGemmaRopes(
  reader: ConfigReader,
  { headDim, contextLength }: DecoderShape,
): { full: RopeSpec; sliding: RopeSpec } {
  const both = (full: RopeConfig, sliding: RopeConfig) => ({
    full: ropeSpec(full, headDim, 'half'),
    sliding: ropeSpec(sliding, headDim, 'half'),
  });
  const localTheta = reader.float('rope_local_base_freq', { min: 1, max: 1e12 }, 1e4);
  const local: RopeConfig = { type: 'default', theta: localTheta, rotaryFraction: 1 };
  const nested = reader.optionalObject('rope_parameters');
  if (nested === null) return both(readRope(reader, contextLength, { theta: 1e6 }), local);
  reader.ignore('rope_theta', 'rope_scaling');
  const entry = (key: string, theta: number) => {
    const parameters = nested.optionalObject(key);
    if (parameters === null) throw nested.error(`${key}: missing, expected an object`);
    return readRopeParameters(parameters, contextLength, { theta });
  };
  return both(entry('full_attention', 1e6), entry('sliding_attention', localTheta));
}
