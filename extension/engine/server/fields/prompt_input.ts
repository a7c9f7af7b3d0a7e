import * as z from 'zod';
import { MAX_IDS, MAX_TEXT } from '../limits';
import { byKind, int, passOn } from './field';

export type PromptInput = string | readonly number[];

const ids = z.array(int(0)).min(1).max(MAX_IDS);

/** A text, several texts, the ids of one prompt, or of several; as a list of prompts, at most `most` of them. */
export function promptInput(most: number) {
  const texts = z.array(z.string().max(MAX_TEXT)).min(1).max(most);
  const manyIds = z.array(ids).min(1).max(most);
  return byKind({
    string: z.string().max(MAX_TEXT),
    array: z.array(z.unknown()).transform((items, context): readonly PromptInput[] => {
      const [first] = items;
      const schema: z.ZodType<readonly PromptInput[] | readonly number[]> =
        typeof first === 'number' ? ids : Array.isArray(first) ? manyIds : texts;
      const result = schema.safeParse(items);
      if (!result.success) {
        passOn(result.error, items, context);
        return z.NEVER;
      }
      return typeof first === 'number'
        ? [result.data as readonly number[]]
        : (result.data as readonly PromptInput[]);
    }),
  }).transform((value): readonly PromptInput[] => (typeof value === 'string' ? [value] : value));
}

/** For the documentation. */
export function promptInfo(most: number) {
  return {
    type: 'string or array',
    range: `a text, token ids, or up to ${most} of either`,
    otherwise: 'required',
  };
}

/** The name of one prompt in the errors of a request. */
export function promptParam(field: string, count: number, index: number): string {
  return count === 1 ? field : `${field}[${index}]`;
}
