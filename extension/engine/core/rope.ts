import { EngineError } from '../errors';
import type { RopeConfig } from '../loading/rope_config';
import type { Instruction, Program, RopeSpec } from './program';

type Yarn = Extract<RopeConfig, { type: 'yarn' }>;
type Llama3 = Extract<RopeConfig, { type: 'llama3' }>;

/**
 * The rotation of a head of `headDim` columns: pair i turns by position * theta^(-2i / n), where n is the number of
 * rotated columns. RoFormer, https://arxiv.org/abs/2104.09864, section 3.2.2.
 */
export function ropeSpec(
  rope: RopeConfig,
  headDim: number,
  familyLayout: RopeSpec['layout'],
): RopeSpec {
  const layout =
    rope.interleaved === undefined ? familyLayout : rope.interleaved ? 'interleaved' : 'half';
  const rotated = Math.floor(headDim * rope.rotaryFraction);
  const frequencies = Array.from(
    { length: rotated / 2 },
    (_, i) => rope.theta ** ((-2 * i) / rotated),
  );
  switch (rope.type) {
    case 'default':
      return { inverseFrequencies: frequencies, scale: 1, layout };
    case 'linear': // position interpolation, https://arxiv.org/abs/2306.15595
      return { inverseFrequencies: frequencies.map((f) => f / rope.factor), scale: 1, layout };
    case 'frequency_factors':
      return { inverseFrequencies: divided(frequencies, rope.factors), scale: 1, layout };
    case 'longrope': {
      const { shortFactors, longFactors, originalContext: context, attentionFactor } = rope;
      return {
        inverseFrequencies: divided(frequencies, shortFactors),
        scale: attentionFactor,
        layout,
        beyond: { context, inverseFrequencies: divided(frequencies, longFactors) },
      };
    }
    case 'llama3':
      return {
        inverseFrequencies: frequencies.map((f) => llama3Frequency(f, rope)),
        scale: 1,
        layout,
      };
    case 'yarn':
      return {
        inverseFrequencies: yarnFrequencies(frequencies, rope),
        scale: yarnScale(rope),
        layout,
      };
  }
}

/**
 * The program for texts of up to `contextLength` tokens. Frequencies that depend on it are chosen once: keys that are cached
 * have been turned by them.
 */
export function forContext(program: Program, contextLength: number): Program {
  const choose = ({ beyond, ...rope }: RopeSpec): RopeSpec =>
    beyond === undefined || contextLength <= beyond.context
      ? rope
      : { ...rope, inverseFrequencies: beyond.inverseFrequencies };
  const instructions = program.instructions.map((at): Instruction =>
    'rope' in at && at.rope !== null ? { ...at, rope: choose(at.rope) } : at,
  );
  return { ...program, instructions };
}

function divided(frequencies: readonly number[], factors: readonly number[]): number[] {
  if (factors.length !== frequencies.length) {
    const problem = `got ${factors.length} frequency factors, expected ${frequencies.length}`;
    throw new EngineError('bad_model', `[rope] ${problem}`);
  }
  return frequencies.map((f, i) => f / (factors[i] ?? 1));
}

/**
 * Llama 3.1 (https://arxiv.org/abs/2407.21783): pairs that turn often within the original context stay, pairs that turn
 * less than lowFreqFactor times are slowed by `factor`, those between are blended by their number of turns.
 */
function llama3Frequency(frequency: number, rope: Llama3): number {
  const turns = (rope.originalContext * frequency) / (2 * Math.PI);
  const blend = (turns - rope.lowFreqFactor) / (rope.highFreqFactor - rope.lowFreqFactor);
  return mix(frequency / rope.factor, frequency, clamp01(blend));
}

/**
 * YaRN, https://arxiv.org/abs/2309.00071, section 3.2: as above, but blended linearly over the pair's index, between the
 * indices at which a pair makes betaFast and betaSlow turns within the original context.
 */
function yarnFrequencies(frequencies: readonly number[], rope: Yarn): number[] {
  const rotated = 2 * frequencies.length;
  const indexOfTurns = (turns: number) =>
    (rotated * Math.log(rope.originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const fast = indexOfTurns(rope.betaFast);
  const slow = indexOfTurns(rope.betaSlow);
  const low = Math.max(rope.truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(rope.truncate ? Math.ceil(slow) : slow, rotated - 1);
  // An empty range would divide by zero.
  const width = high === low ? 0.001 : high - low;
  return frequencies.map((f, i) => mix(f, f / rope.factor, clamp01((i - low) / width)));
}

/** YaRN's temperature on the attention scores, section 3.3, put on cos and sin; DeepSeek divides by a second term. */
function yarnScale(rope: Yarn): number {
  if (rope.attentionFactor !== null) return rope.attentionFactor;
  const term = (mscale: number) => 0.1 * mscale * Math.log(rope.factor) + 1;
  const hasBoth = rope.mscale > 0 && rope.mscaleAllDim > 0;
  const computed = hasBoth ? term(rope.mscale) / term(rope.mscaleAllDim) : term(1);
  return computed * rope.attentionMultiplier;
}

/** a at t = 0, b at t = 1. */
function mix(a: number, b: number, t: number): number {
  return a * (1 - t) + b * t;
}

function clamp01(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}
