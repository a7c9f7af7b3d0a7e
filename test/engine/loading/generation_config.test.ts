import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGenerationConfig } from '../../../extension/engine/loading/generation_config';
import { assertFails, temporaryFolder, writeFiles } from './model_fixture';

const read = (
  config: object,
  generation?: object,
  eosId: number | null = null,
  controls: Readonly<Record<string, number>> = {},
) => {
  const files = {
    'config.json': config,
    ...(generation ? { 'generation_config.json': generation } : {}),
  };
  const specialId = (text: string) => controls[text] ?? null;
  return readGenerationConfig(writeFiles(temporaryFolder(), files), {
    vocabSize: 100,
    eosId,
    specialId,
  });
};

test('a text ends where any of the three files says', () => {
  assert.deepEqual(read({ eos_token_id: 1 }, { eos_token_id: [1, 7] }, 3).eosIds, [1, 3, 7]);
  assert.deepEqual(read({ eos_token_id: [1, 6] }).eosIds, [1, 6]);
  assert.deepEqual(read({ eos_token_id: null }, {}, 2).eosIds, [2]);
  assert.deepEqual(read({}).eosIds, []);
});

test('a text ends with a turn, whatever the files leave out', () => {
  const llama3 = { '<|end_of_text|>': 1, '<|eot_id|>': 9 };
  assert.deepEqual(read({ eos_token_id: 1 }, undefined, 1, llama3).eosIds, [1, 9]);
  const phi3 = { '<|endoftext|>': 0, '<|end|>': 7 };
  assert.deepEqual(read({ eos_token_id: 0 }, undefined, 0, phi3).eosIds, [0, 7]);
  // What ends a message of gpt-oss does not end its answer.
  const harmony = { '<|return|>': 2, '<|call|>': 3, '<|end|>': 7 };
  assert.deepEqual(read({ eos_token_id: 2 }, undefined, 2, harmony).eosIds, [2, 3]);
  assert.deepEqual(read({ text_config: { eos_token_id: 5 } }).eosIds, [5]);
});

test('ids that no token has', () => {
  for (const eos of [[], 'x', 100, -1, 1.5, [1, '2']]) {
    assertFails(
      () => read({ eos_token_id: eos }),
      'bad_model',
      'config.json: eos_token_id: got',
      'ids from 0 to 99',
    );
    assertFails(
      () => read({}, { eos_token_id: eos }),
      'bad_model',
      'generation_config.json: eos_token_id',
    );
  }
});

test('recommended sampling, and what is not recommended stays open', () => {
  const all = {
    do_sample: true,
    temperature: 0.7,
    top_k: 20,
    top_p: 0.8,
    min_p: 0,
    repetition_penalty: 1.05,
  };
  const expected = { temperature: 0.7, topK: 20, topP: 0.8, minP: 0, repetitionPenalty: 1.05 };
  assert.deepEqual(read({}, all).sampling, expected);
  assert.deepEqual(read({}).sampling, {});
  assert.deepEqual(read({}, { do_sample: false, temperature: 0.7 }).sampling, { temperature: 0 });
  assert.deepEqual(read({}, { do_sample: true }).sampling, { temperature: 1 });
  assert.deepEqual(read({}, { top_k: -1 }).sampling, { topK: 0 });
});

test('sampling out of range', () => {
  assertFails(
    () => read({}, { top_p: 2 }),
    'bad_model',
    'generation_config.json: top_p 2 above limit 1',
  );
  assertFails(
    () => read({}, { temperature: 'hot' }),
    'bad_model',
    'temperature: got "hot", expected a number',
  );
});
