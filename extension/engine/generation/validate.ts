import { EngineError } from '../errors';
import type { GenerateRequest, SamplingParams } from './types';

/** Of temperatures; more than this is no different. */
const MAX_TEMPERATURE = 1e6;

/** Throws bad_request for a request that could never run, before it takes its place among others. */
export function validateRequest(
  { ids, maxTokens, sampling, healedPrefix, constraint, forcedIds = [] }: GenerateRequest,
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
  checkSampling(sampling);
  if (healedPrefix !== undefined && constraint !== undefined) {
    throw new EngineError('bad_request', 'a grammar cannot be combined with token healing');
  }
}

/** A draw that the backend refused would fail the step, and with it everybody in it. */
function checkSampling({ temperature, topK, topP, minP, seed }: SamplingParams): void {
  const expect = (isRight: boolean, name: string, got: number, expected: string) => {
    if (isRight) return;
    throw new EngineError('bad_request', `${name} ${got}: expected ${expected}`);
  };
  const isWithin = (x: number, most: number) => x >= 0 && x <= most;
  const to = (most: number) => `0 to ${most}`;
  expect(isWithin(temperature, MAX_TEMPERATURE), 'temperature', temperature, to(MAX_TEMPERATURE));
  expect(Number.isSafeInteger(topK) && topK >= 0, 'topK', topK, 'a whole number from 0');
  expect(isWithin(topP, 1), 'topP', topP, to(1));
  expect(isWithin(minP, 1), 'minP', minP, to(1));
  expect(Number.isSafeInteger(seed), 'seed', seed, 'a whole number that a double holds');
}
