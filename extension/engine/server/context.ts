import type { ServerEngine } from './engine';
import { ApiError, badRequest } from './errors';

/**
 * Reads long texts ahead, so that nobody waits while they become tokens. Refuses those of one prompt that are too long
 * whatever is in them.
 */
export async function readAhead(
  { tokenizer, info }: ServerEngine,
  texts: readonly string[],
  param: string,
): Promise<void> {
  const least = texts.reduce((sum, text) => sum + tokenizer.leastTokens(text), 0);
  if (least >= info.contextLength) throw tooLong(param, `at least ${least}`, least, info);
  for (const text of texts) await tokenizer.prepare(text);
}

/** Refuses a prompt that the model cannot take, before anything of the answer is sent. */
export function checkPrompt(
  { tokenizer, info }: ServerEngine,
  ids: readonly number[],
  param: string,
): void {
  const { contextLength } = info;
  if (ids.length === 0) throw badRequest('empty_string', param, `${param}: the prompt is empty`);
  const strange = ids.find((id) => id >= tokenizer.vocabSize);
  if (strange !== undefined) {
    throw badRequest(
      'invalid_value',
      param,
      `${param}: token ${strange}; this model has tokens 0 to ${tokenizer.vocabSize - 1}`,
    );
  }
  if (ids.length < contextLength) return;
  throw tooLong(param, String(ids.length), ids.length, info);
}

function tooLong(
  param: string,
  tokens: string,
  count: number,
  { contextLength }: ServerEngine['info'],
): ApiError {
  return new ApiError(
    400,
    'context_length_exceeded',
    `${param}: ${tokens} tokens; this model's context holds ${contextLength}, at least one of them for the answer`,
    { param, extra: { n_prompt_tokens: count, n_ctx: contextLength } },
  );
}
