import * as z from 'zod';
import { MAX_N, MAX_STOP_LENGTH, MAX_STOPS } from '../limits';
import { byKind, decimal, described, flag, integer, issue, optional, text } from './field';

const MAX_TOKENS = 2 ** 31;
const ANY_INTEGER = Number.MAX_SAFE_INTEGER;

const stopString = z.string().min(1).max(MAX_STOP_LENGTH);

const stop = described(
  optional(byKind({ string: stopString, array: z.array(stopString).max(MAX_STOPS) })).transform(
    (value): readonly string[] => (typeof value === 'string' ? [value] : (value ?? [])),
  ),
  {
    type: 'string or array',
    range: `at most ${MAX_STOPS} strings of 1 to ${MAX_STOP_LENGTH} characters`,
    otherwise: 'none',
    note: 'the answer ends before the first of these',
  },
);

/** Token ids as JSON keys; whether the model has them is known only with the model. */
const logitBias = described(
  optional(
    z.record(z.string(), z.number().min(-100).max(100)).transform((record, context) => {
      const biases = new Map<number, number>();
      for (const [key, bias] of Object.entries(record)) {
        if (/^\d{1,9}$/.test(key)) biases.set(Number(key), bias);
        else
          context.addIssue({
            ...issue('invalid_value', 'expected token ids as keys'),
            path: [key],
          });
      }
      return biases;
    }),
  ),
  {
    type: 'object',
    range: 'token id: -100 to 100',
    otherwise: 'none',
    note: 'added to the logits of these tokens',
  },
);

/** What decides which token is drawn; the same for every way of asking. */
export const samplingFields = {
  temperature: decimal(0, 2, {
    otherwise: 'the model’s own, else 1',
    note: '0 takes the likeliest token always',
  }),
  top_p: described(optional(z.number().gt(0).max(1)), {
    type: 'number',
    range: 'more than 0, at most 1',
    otherwise: 'the model’s own, else 1',
    note: 'the smallest set of tokens with this probability',
  }),
  top_k: integer(-1, MAX_TOKENS, {
    otherwise: 'the model’s own, else all',
    note: 'the k likeliest tokens; 0 and -1 are all',
  }),
  min_p: decimal(0, 1, {
    otherwise: 'the model’s own, else 0',
    note: 'drops tokens below this share of the likeliest',
  }),
  repetition_penalty: described(optional(z.number().gt(0).max(10)), {
    type: 'number',
    range: 'more than 0, at most 10',
    otherwise: 'the model’s own, else 1',
    note: 'divides the logits of the last 64 tokens of prompt and answer',
  }),
  presence_penalty: decimal(-2, 2, {
    otherwise: '0',
    note: 'subtracted from the logits of tokens that the answer has',
  }),
  frequency_penalty: decimal(-2, 2, {
    otherwise: '0',
    note: 'the same, once for each time that the answer has the token',
  }),
  logit_bias: logitBias,
  seed: integer(-ANY_INTEGER, ANY_INTEGER, {
    otherwise: 'a new one each time',
    note: 'same seed, same request: same answer',
  }),
  stop,
};

export const streamFields = {
  stream: flag({ note: 'server-sent events, one a piece of text' }),
  stream_options: described(optional(z.object({ include_usage: optional(z.boolean()) })), {
    type: 'object',
    range: '`include_usage`: boolean; only with `stream`',
    otherwise: 'none',
    note: 'a last event with the usage',
  }),
};

export const choiceFields = {
  n: integer(1, MAX_N, {
    otherwise: '1',
    note: 'answers to the same prompt; the n-th has its own seed',
  }),
};

export const maxTokens = (otherwise: string, note: string, least = 1) =>
  integer(least, MAX_TOKENS, { otherwise, note });

export const modelField = described(z.string().min(1).max(1024), {
  type: 'string',
  range: 'an id of `/v1/models`',
  otherwise: 'required',
  note: 'which model answers',
});

export const optionalModel = text(1024, {
  otherwise: 'the first one',
  note: 'which model answers',
});

/** `stream_options` without a stream is a mistake that the client would not notice. */
export function checkStreamOptions(
  value: { readonly stream?: boolean | undefined; readonly stream_options?: object | undefined },
  context: z.core.$RefinementCtx,
): void {
  if (value.stream_options === undefined || value.stream === true) return;
  context.addIssue({
    ...issue('invalid_value', 'only allowed with "stream": true'),
    path: ['stream_options'],
  });
}
