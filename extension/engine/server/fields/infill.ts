import * as z from 'zod';
import { MAX_PARTS, MAX_TEXT } from '../limits';
import { described, optional, text } from './field';
import { maxTokens, optionalModel, samplingFields, streamFields } from './sampling';

const extra = z.array(
  z.object({ filename: z.string().max(4096).optional(), text: z.string().max(MAX_TEXT) }),
);

export const infillFields = z.object({
  input_prefix: text(MAX_TEXT, { otherwise: 'empty', note: 'the text before the gap' }),
  input_suffix: text(MAX_TEXT, { otherwise: 'empty', note: 'the text after the gap' }),
  prompt: text(MAX_TEXT, { otherwise: 'empty', note: 'goes on the prefix' }),
  input_extra: described(optional(extra.max(MAX_PARTS)), {
    type: 'array',
    range: 'objects of `filename` and `text`',
    otherwise: 'none',
    note: 'other files, before the prefix',
  }),
  n_predict: maxTokens('128', 'most tokens of the answer', -1),
  model: optionalModel,
  ...samplingFields,
  stream: streamFields.stream,
});

export type InfillFields = z.output<typeof infillFields>;
