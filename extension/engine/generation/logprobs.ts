import type { Logprob } from './types';

/** Stands for probability zero, whose logarithm JSON cannot write. */
export const MIN_LOGPROB = -9999;

/** The log probabilities of token `id` and of the `count` likeliest ones, ties to the lower id, by logits [vocab]. */
export function logprobsOf(
  logits: Float32Array,
  id: number,
  count: number,
): Logprob & { readonly top: readonly Logprob[] } {
  const normalizer = logSumExp(logits);
  const of = (token: number): Logprob => ({
    id: token,
    logprob: Math.max(MIN_LOGPROB, (logits[token] ?? -Infinity) - normalizer),
  });
  return { ...of(id), top: likeliest(logits, count).map(of) };
}

function logSumExp(logits: Float32Array): number {
  let best = -Infinity;
  for (const x of logits) if (x > best) best = x;
  let sum = 0;
  for (const x of logits) sum += Math.exp(x - best);
  return best + Math.log(sum);
}

/** Insertion into a short sorted list: `count` is at most 20, and most logits are below its last. */
function likeliest(logits: Float32Array, count: number): number[] {
  const ids: number[] = [];
  if (count === 0) return ids;
  for (let id = 0; id < logits.length; id++) {
    const x = logits[id] as number;
    if (ids.length === count && x <= (logits[ids[count - 1] as number] as number)) continue;
    let at = ids.length;
    while (at > 0 && (logits[ids[at - 1] as number] as number) < x) at--;
    ids.splice(at, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}
