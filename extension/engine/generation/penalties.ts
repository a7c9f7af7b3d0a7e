import type { SamplingParams } from './types';

/**
 * What a request adds to or takes from the logits [vocab], in place, before the next token is drawn. The last
 * `generated` tokens of `history` are the answer; the others are the prompt.
 */
export function penalize(
  logits: Float32Array,
  params: SamplingParams,
  history: readonly number[],
  generated: number,
): void {
  repetition(logits, params, history);
  occurrence(logits, params, history, generated);
  for (const [id, bias] of params.logitBias ?? []) add(logits, id, bias);
}

/** Whether `penalize` changes anything. */
export function isPenalized(params: SamplingParams): boolean {
  const { repetitionPenalty, repetitionWindow, presencePenalty = 0, frequencyPenalty = 0 } = params;
  const repeats = repetitionPenalty !== 1 && repetitionWindow !== 0;
  const occurs = presencePenalty !== 0 || frequencyPenalty !== 0;
  return repeats || occurs || (params.logitBias?.size ?? 0) > 0;
}

/** Repetition penalty of CTRL (Keskar et al. 2019) over the last tokens of prompt and answer. */
function repetition(
  logits: Float32Array,
  { repetitionPenalty, repetitionWindow }: SamplingParams,
  history: readonly number[],
): void {
  if (repetitionPenalty === 1 || repetitionWindow === 0) return;
  for (const id of new Set(history.slice(-repetitionWindow))) {
    const x = logits[id];
    if (x !== undefined) logits[id] = x > 0 ? x / repetitionPenalty : x * repetitionPenalty;
  }
}

/** Presence and frequency penalties of OpenAI's API, over the answer alone. */
function occurrence(
  logits: Float32Array,
  { presencePenalty = 0, frequencyPenalty = 0 }: SamplingParams,
  history: readonly number[],
  generated: number,
): void {
  if (presencePenalty === 0 && frequencyPenalty === 0) return;
  const counts = new Map<number, number>();
  for (const id of history.slice(Math.max(0, history.length - generated))) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  for (const [id, count] of counts) add(logits, id, -presencePenalty - frequencyPenalty * count);
}

function add(logits: Float32Array, id: number, value: number): void {
  const x = logits[id];
  if (x !== undefined) logits[id] = x + value;
}
