import type { GenerationConfig } from '../loading/generation_config';
import { GREEDY, type SamplingParams } from '../generation/types';
import type { OptionReader, OptionSpecs } from './options';

export const SAMPLING_OPTIONS: OptionSpecs = {
  'max-tokens': { type: 'string' },
  temp: { type: 'string' },
  'top-p': { type: 'string' },
  'top-k': { type: 'string' },
  'min-p': { type: 'string' },
  'repetition-penalty': { type: 'string' },
  seed: { type: 'string' },
  stop: { type: 'string', multiple: true },
};

export const SAMPLING_HELP: Readonly<Record<string, string>> = {
  'max-tokens': 'most tokens generated',
  temp: 'temperature; 0 = greedy; default: the model’s own',
  'top-p': 'smallest set of tokens with this probability',
  'top-k': 'the k most likely tokens; 0 = all',
  'min-p': 'drop tokens below this share of the likeliest',
  'repetition-penalty': 'divides the logits of recent tokens; 1 = off',
  seed: 'same seed, same text; default: from the clock',
  stop: 'end before this text; may be given more than once',
};

/** Options win over the model's generation_config.json, which wins over greedy. */
export function samplingParams(values: OptionReader, defaults: GenerationConfig): SamplingParams {
  const own = defaults.sampling;
  return {
    temperature: values.number('temp', own.temperature ?? GREEDY.temperature, { min: 0, max: 10 }),
    topK: values.integer('top-k', own.topK ?? GREEDY.topK, { min: 0, max: 2 ** 20 }),
    topP: values.number('top-p', own.topP ?? GREEDY.topP, { min: 0, max: 1 }),
    minP: values.number('min-p', own.minP ?? GREEDY.minP, { min: 0, max: 1 }),
    repetitionPenalty: values.number(
      'repetition-penalty',
      own.repetitionPenalty ?? GREEDY.repetitionPenalty,
      { min: 0.1, max: 10 },
    ),
    repetitionWindow: GREEDY.repetitionWindow,
    seed: values.integer('seed', Date.now() % 2 ** 32, { min: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}
