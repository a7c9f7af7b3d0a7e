import { randomInt } from 'node:crypto';
import { GREEDY, type SamplingParams } from '../generation/types';
import type { ServerEngine } from './engine';
import { badRequest } from './errors';

/** The sampling fields of a request, checked. */
export interface SamplingRequest {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
  readonly min_p?: number | undefined;
  readonly repetition_penalty?: number | undefined;
  readonly presence_penalty?: number | undefined;
  readonly frequency_penalty?: number | undefined;
  readonly logit_bias?: ReadonlyMap<number, number> | undefined;
  readonly seed?: number | undefined;
}

/** OpenAI's default where neither the request nor the model's authors say anything. */
const DEFAULT_TEMPERATURE = 1;
/** Odd, so that choices of one request never share a seed. */
const SEED_STEP = 0x9e3779b1;

/** The seed of the i-th choice: a whole number that a double holds, as all seeds are. */
function seedOf(seed: number, i: number): number {
  const next = seed + i * SEED_STEP;
  return Number.isSafeInteger(next) ? next : seed - i * SEED_STEP;
}

/** The parameters of `count` choices: the same but for the seed, which is the request's own for the first. */
export function samplingOf(
  fields: SamplingRequest,
  { tokenizer, generationConfig }: ServerEngine,
  count: number,
): SamplingParams[] {
  const own = generationConfig.sampling;
  for (const id of fields.logit_bias?.keys() ?? []) {
    if (id < tokenizer.vocabSize) continue;
    throw badRequest(
      'invalid_value',
      'logit_bias',
      `logit_bias: token ${id}; this model has tokens 0 to ${tokenizer.vocabSize - 1}`,
    );
  }
  const seed = fields.seed ?? randomInt(2 ** 32);
  const shared = {
    temperature: fields.temperature ?? own.temperature ?? DEFAULT_TEMPERATURE,
    topP: fields.top_p ?? own.topP ?? GREEDY.topP,
    topK: Math.max(0, fields.top_k ?? own.topK ?? GREEDY.topK),
    minP: fields.min_p ?? own.minP ?? GREEDY.minP,
    repetitionPenalty:
      fields.repetition_penalty ?? own.repetitionPenalty ?? GREEDY.repetitionPenalty,
    repetitionWindow: GREEDY.repetitionWindow,
    presencePenalty: fields.presence_penalty ?? 0,
    frequencyPenalty: fields.frequency_penalty ?? 0,
    ...(fields.logit_bias === undefined ? {} : { logitBias: fields.logit_bias }),
  };
  return Array.from({ length: count }, (_, i) => ({ ...shared, seed: seedOf(seed, i) }));
}
