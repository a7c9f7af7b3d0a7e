import type { Logprob, TokenLogprob } from '../../generation/types';
import type { ServerEngine } from '../engine';

/** Log probabilities in the shape of /v1/chat/completions. */
export function chatLogprobs(engine: ServerEngine, tokens: readonly TokenLogprob[]) {
  return {
    content: tokens.map((token) => ({
      ...describe(engine, token),
      top_logprobs: token.top.map((other) => describe(engine, other)),
    })),
    refusal: null,
  };
}

function describe({ tokenizer }: ServerEngine, { id, logprob }: Logprob) {
  const bytes = tokenizer.tokenBytes(id);
  return { token: tokenizer.decode([id]), logprob, bytes: [...bytes] };
}
