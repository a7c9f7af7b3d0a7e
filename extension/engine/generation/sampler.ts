import { FallingOrder } from './falling_order';
import { penalize } from './penalties';
import { uniform } from './philox';
import type { SamplingParams } from './types';

/** Probabilities below exp(-RANGE) of the likeliest token vanish in float32 sums; such tokens are never drawn. */
const RANGE = 30;

/**
 * Draws the token at `index` of a generation from its logits [vocab]. Order of the filters: penalties and biases,
 * temperature, top-k, top-p, min-p. Ties go to the lower id. Logits are changed in place.
 * `history`: prompt and answer; its last `index` tokens are the answer. `allowed`, when given, holds the only ids that may
 * be drawn; it is not empty.
 */
export function sample(
  logits: Float32Array,
  params: SamplingParams,
  history: readonly number[],
  index: number,
  allowed: readonly number[] | null = null,
): number {
  penalize(logits, params, history, index);
  const likeliest = argmax(logits, allowed);
  const { temperature, topK } = params;
  const best = logits[likeliest] ?? NaN;
  if (temperature === 0 || !Number.isFinite(best)) return likeliest;
  const most = topK > 0 ? topK : Infinity;
  const order = new FallingOrder(logits, best, temperature, RANGE * temperature, most, allowed);
  const kept = truncated(order, params);
  return order.at(order.countOfMass(uniform(params.seed, index) * order.mass(kept), kept) - 1);
}

/**
 * How many of the likeliest tokens nucleus sampling (Holtzman et al. 2020) and min-p (Nguyen et al. 2024) keep: at
 * least one.
 */
function truncated(order: FallingOrder, { topP, minP }: SamplingParams): number {
  let kept = order.length;
  if (topP < 1) kept = order.countOfMass(topP * order.mass(kept), kept);
  if (minP > 0) kept = order.countOfWeight(minP, kept);
  return kept;
}

/** The most likely id; the lowest one among equals. */
export function argmax(logits: Float32Array, allowed: readonly number[] | null = null): number {
  if (allowed === null) return argmaxOfAll(logits);
  let best = -1;
  let value = -Infinity;
  for (const id of allowed) {
    const x = logits[id] ?? -Infinity;
    if (x > value || (x === value && id < best)) {
      value = x;
      best = id;
    }
  }
  return best < 0 ? (allowed[0] ?? 0) : best;
}

/** Four at a time: this runs for every greedy token over the whole vocabulary, and a new best is rare. */
function argmaxOfAll(logits: Float32Array): number {
  const { length } = logits;
  let best = 0;
  let value = -Infinity;
  let i = 0;
  const look = (end: number): void => {
    for (; i < end; i++) {
      const x = logits[i] as number;
      if (x > value) {
        value = x;
        best = i;
      }
    }
  };
  while (i + 4 <= length) {
    const a = logits[i] as number;
    const b = logits[i + 1] as number;
    const c = logits[i + 2] as number;
    const d = logits[i + 3] as number;
    if (a > value || b > value || c > value || d > value) look(i + 4);
    else i += 4;
  }
  look(length);
  return best;
}
