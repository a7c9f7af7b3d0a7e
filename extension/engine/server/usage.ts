import type { GenerateResult } from '../generation/types';

/** Token counts of a request, in OpenAI's shape. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** `promptTokens`: of each prompt once, however many answers it has. */
export function usageOf(
  promptTokens: number,
  completionTokens: number,
  cachedTokens: number,
  reasoningTokens = 0,
): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(cachedTokens, promptTokens) },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

export function sumOf(
  results: readonly GenerateResult[],
  of: (result: GenerateResult) => number,
): number {
  return results.reduce((sum, result) => sum + of(result), 0);
}
