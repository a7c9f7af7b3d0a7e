import { MAX_PROMPT_TOKENS, SUFFIX_SHARE } from '../completion/prompt';
import type { WriteMiddle } from '../completion/middle';
import { prefixWindow, suffixWindow, TokenCounter } from '../completion/window';
import type { Endpoint } from './endpoint';
import { streamMiddle } from './middle';
import type { FimRoute } from './probe';
import { estimateTokens } from './tokens';

/** Writes the text in the middle by asking a server. */
export function remoteMiddle(
  endpoint: Endpoint,
  model: string,
  route: FimRoute,
  contextLength: number,
): WriteMiddle {
  const counter = new TokenCounter(estimateTokens);
  return async (text, { maxTokens, signal, onText }) => {
    const budget = Math.max(64, Math.min(MAX_PROMPT_TOKENS, contextLength - maxTokens));
    const suffix = suffixWindow(text.suffix, Math.floor(budget * SUFFIX_SHARE), counter);
    const room = budget - estimateTokens(suffix);
    const prefix = prefixWindow(text.prefix, text.prefixLine, room, counter);
    const started = performance.now();
    const request = { prefix, suffix, maxTokens, signal, onText };
    const { finish, firstMs, chunks } = await streamMiddle(endpoint, model, route, request);
    return {
      finish,
      promptTokens: estimateTokens(prefix) + estimateTokens(suffix),
      cachedTokens: 0,
      generatedTokens: chunks,
      timings: { queueMs: 0, prefillMs: firstMs, decodeMs: performance.now() - started - firstMs },
    };
  };
}
