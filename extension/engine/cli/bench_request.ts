import { GREEDY, type GenerateRequest } from '../generation/types';

/** A greedy answer of exactly `maxTokens`, one token a step. */
export function benchRequest(ids: number[], maxTokens: number): GenerateRequest {
  return { ids, maxTokens, sampling: GREEDY, stop: [], ignoreEos: true, drafts: false };
}
