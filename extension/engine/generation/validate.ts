import { EngineError } from '../errors';
import type { GenerateRequest } from './types';

/** Throws bad_request for a request that could never run, before it takes its place among others. */
export function validateRequest(
  { ids, maxTokens, healedPrefix, constraint, forcedIds = [] }: GenerateRequest,
  { contextLength, vocabSize }: { readonly contextLength: number; readonly vocabSize: number },
): void {
  if (ids.length === 0) throw new EngineError('bad_request', 'the prompt is empty');
  if (ids.length >= contextLength) {
    throw new EngineError(
      'bad_request',
      `the prompt has ${ids.length} tokens, the context holds ${contextLength}; shorten the prompt`,
    );
  }
  const strange = [...ids, ...forcedIds].find(
    (id) => !Number.isInteger(id) || id < 0 || id >= vocabSize,
  );
  if (strange !== undefined) {
    throw new EngineError(
      'bad_request',
      `prompt token ${strange}: this model has tokens 0 to ${vocabSize - 1}`,
    );
  }
  if (!Number.isInteger(maxTokens) || maxTokens < 1) {
    throw new EngineError('bad_request', `maxTokens ${maxTokens}: expected a whole number from 1`);
  }
  if (healedPrefix !== undefined && constraint !== undefined) {
    throw new EngineError('bad_request', 'a grammar cannot be combined with token healing');
  }
}
