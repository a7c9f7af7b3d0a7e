import type {
  GenerateRequest,
  Priority,
  SamplingParams,
} from '../../../../extension/engine/generation/types';
import type { Random } from './random';
import { VOCAB_SIZE } from './toy_model';

const PRIORITIES: readonly [Priority, ...Priority[]] = ['completion', 'chat', 'port', 'background'];

/**
 * A text of at most `longest` tokens as it comes from another by typing, deleting, replacing in the middle, or not at
 * all; `write` gives the new parts.
 */
export function edit(
  random: Random,
  base: readonly number[],
  longest: number,
  write: (length: number) => number[] = (length) => randomTokens(random, length),
): number[] {
  const at = random.int(0, base.length);
  const typed = write(random.int(1, 12));
  const edited = random.pick([
    () => [...base],
    () => [...base, ...typed],
    () => base.slice(0, Math.max(1, at)),
    () => [...base.slice(0, at), ...typed, ...base.slice(at)],
    () => [...base.slice(0, at), ...typed, ...base.slice(at + typed.length)],
    () => write(random.int(1, longest)),
  ])();
  return edited.slice(0, longest);
}

export function randomTokens(random: Random, length: number): number[] {
  return Array.from({ length }, () => random.int(0, VOCAB_SIZE - 2));
}

/** Without a signal and without a reader. */
export function randomRequest(random: Random, ids: readonly number[]): GenerateRequest {
  return {
    ids,
    maxTokens: random.int(1, 20),
    sampling: randomSampling(random),
    stop: random.chance(0.2) ? [random.pick(['ab', 'e', 'the', 'zzz'])] : [],
    stopIds: random.chance(0.1) ? [random.int(0, VOCAB_SIZE - 1)] : [],
    ignoreEos: random.chance(0.1),
    priority: random.pick(PRIORITIES),
    ...(random.chance(0.2) ? { healedPrefix: randomHealing(random) } : {}),
    ...(random.chance(0.3) ? { logprobs: random.int(0, 5) } : {}),
    ...(random.chance(0.1) ? { forcedIds: randomTokens(random, random.int(1, 6)) } : {}),
  };
}

function randomHealing(random: Random): Uint8Array {
  return new TextEncoder().encode(random.pick(['re', 'a', 'retu']));
}

function randomBias(random: Random): Map<number, number> {
  return new Map(randomTokens(random, 3).map((id) => [id, random.pick([-100, -2, 3])]));
}

function randomSampling(random: Random): SamplingParams {
  return {
    temperature: random.pick([0, 0, 0.7, 1.3]),
    topK: random.pick([0, 5]),
    topP: random.pick([1, 0.9]),
    minP: random.pick([0, 0.05]),
    repetitionPenalty: random.pick([1, 1.2]),
    repetitionWindow: random.pick([8, 64]),
    presencePenalty: random.pick([0, 0, 1.5]),
    frequencyPenalty: random.pick([0, 0, -0.5, 0.8]),
    ...(random.chance(0.2) ? { logitBias: randomBias(random) } : {}),
    seed: random.int(0, 1e6),
  };
}
