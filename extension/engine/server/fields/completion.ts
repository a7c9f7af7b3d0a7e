import * as z from 'zod';
import { MAX_CHOICES, MAX_LEGACY_LOGPROBS, MAX_TEXT } from '../limits';
import { described, flag, integer, issue, refused, text } from './field';
import { checkOneFormat, formatFields } from './format';
import { promptInfo, promptInput } from './prompt_input';
import {
  checkStreamOptions,
  choiceFields,
  maxTokens,
  modelField,
  samplingFields,
  streamFields,
} from './sampling';

export const completionFields = z
  .object({
    model: modelField,
    prompt: described(promptInput(MAX_CHOICES), {
      ...promptInfo(MAX_CHOICES),
      note: 'what the answer continues',
    }),
    suffix: text(MAX_TEXT, {
      otherwise: 'none',
      note: 'the text after the gap; needs a model that fills in',
    }),
    max_tokens: maxTokens('16', 'most tokens of the answer; 0 only with `echo`', 0),
    echo: flag({ note: 'the answer begins with the prompt' }),
    logprobs: integer(0, MAX_LEGACY_LOGPROBS, {
      otherwise: 'none',
      note: 'log probabilities of the tokens and of so many alternatives; with `echo` also of the prompt',
    }),
    best_of: integer(1, MAX_CHOICES, { otherwise: '`n`', note: 'only the value of `n`' }),
    ...choiceFields,
    ...samplingFields,
    ...streamFields,
    ...formatFields,
    grammar: refused('llama.cpp’s own grammars are not supported; see guided_grammar'),
  })
  .superRefine(checkStreamOptions)
  .superRefine(checkOneFormat)
  .superRefine((value, context) => {
    const n = value.n ?? 1;
    if (value.best_of !== undefined && value.best_of !== n) {
      const words = `expected the value of n, ${n}: answers are not ranked`;
      context.addIssue({ ...issue('unsupported_value', words), path: ['best_of'] });
    }
    if (value.max_tokens === 0 && value.echo !== true) {
      context.addIssue({
        ...issue('integer_below_min_value', 'expected at least 1, or echo'),
        path: ['max_tokens'],
      });
    }
    if (value.prompt.length * n > MAX_CHOICES) {
      const words = `${value.prompt.length} prompts with ${n} answers each: at most ${MAX_CHOICES} answers`;
      context.addIssue({ ...issue('array_above_max_length', words), path: ['prompt'] });
    }
  });

export type CompletionFields = z.output<typeof completionFields>;
