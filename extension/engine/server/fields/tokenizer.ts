import * as z from 'zod';
import { MAX_IDS, MAX_TEXT } from '../limits';
import { described, flag, int } from './field';
import { optionalModel } from './sampling';

export const tokenizeFields = z.object({
  content: described(z.string().max(MAX_TEXT), {
    type: 'string',
    range: `at most ${MAX_TEXT} characters`,
    otherwise: 'required',
    note: 'the text',
  }),
  add_special: flag({ note: 'begins with the tokens that a prompt begins with' }),
  parse_special: flag({ note: 'control tokens in the text become control tokens' }),
  with_pieces: flag({ note: 'objects of `id` and `piece`, the bytes where they are not UTF-8' }),
  model: optionalModel,
});

export const detokenizeFields = z.object({
  tokens: described(z.array(int(0)).max(MAX_IDS), {
    type: 'array',
    range: 'token ids',
    otherwise: 'required',
    note: 'the tokens',
  }),
  model: optionalModel,
});
