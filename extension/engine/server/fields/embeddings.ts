import * as z from 'zod';
import { MAX_EMBEDDINGS } from '../limits';
import { described, integer, oneOf } from './field';
import { promptInfo, promptInput } from './prompt_input';
import { modelField } from './sampling';

/** More numbers than the embedding of any model has. */
const MAX_DIMENSIONS = 2 ** 16;

export const embeddingFields = z.object({
  model: modelField,
  input: described(promptInput(MAX_EMBEDDINGS), {
    ...promptInfo(MAX_EMBEDDINGS),
    note: 'what is embedded; no text may be empty',
  }),
  encoding_format: oneOf(['float', 'base64'], {
    otherwise: 'float',
    note: 'numbers, or the bytes of little-endian float32',
  }),
  dimensions: integer(1, MAX_DIMENSIONS, {
    otherwise: 'all of the model',
    note: 'so many of the first numbers, scaled to length 1; for models that are trained for it',
  }),
  pooling: oneOf(['mean', 'last'], {
    otherwise: 'the model’s own, else mean',
    note: 'the mean of all tokens, or the last one',
  }),
});
