import type { ServerEngine } from './engine';
import { ApiError, badRequest } from './errors';

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
  throw new ApiError(
    400,
    'context_length_exceeded',
    `${param}: ${ids.length} tokens; this model's context holds ${contextLength}, at least one of them for the answer`,
    { param, extra: { n_prompt_tokens: ids.length, n_ctx: contextLength } },
  );
}
