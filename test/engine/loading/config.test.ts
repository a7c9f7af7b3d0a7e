import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  readActivation,
  readDecoderConfig,
  readModelConfig,
} from '../../../extension/engine/loading/config';
import { assertFails, FIXTURES, SPROUT, temporaryFolder, writeFiles } from './model_fixture';

const CONFIG = {
  model_type: 'qwen3',
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 320,
  max_position_embeddings: 4096,
};

const read = (changes: object) => {
  const folder = writeFiles(temporaryFolder(), { 'config.json': { ...CONFIG, ...changes } });
  return readDecoderConfig(readModelConfig(folder).reader);
};

test('the embedded model and a fixture with the newer rope_parameters', () => {
  const sprout = readModelConfig(SPROUT);
  assert.equal(sprout.modelType, 'qwen3');
  assert.deepEqual(readDecoderConfig(sprout.reader), {
    hiddenSize: 512,
    intermediateSize: 1280,
    numLayers: 12,
    numHeads: 8,
    numKvHeads: 2,
    headDim: 64,
    vocabSize: 16384,
    contextLength: 2048,
    tieWordEmbeddings: true,
    rope: { theta: 100_000, rotaryFraction: 1, type: 'default' },
  });
  const fixture = readModelConfig(join(FIXTURES, 'conformance/qwen3'));
  assert.equal(readDecoderConfig(fixture.reader).rope.theta, 1_000_000);
});

test('missing heads and head size follow from the others', () => {
  const config = read({ num_key_value_heads: undefined, head_dim: null });
  assert.deepEqual([config.numKvHeads, config.headDim], [4, 16]);
});

test('sizes that contradict each other or no model has', () => {
  const cases: [object, string][] = [
    [
      { num_attention_heads: 32, num_key_value_heads: 5 },
      'num_attention_heads 32 is not a multiple of num_key_value_heads 5',
    ],
    [
      { hidden_size: 1000, num_attention_heads: 32 },
      'hidden_size 1000 is not a multiple of num_attention_heads 32',
    ],
    [{ head_dim: 15 }, 'head_dim 15 must be even'],
    [{ head_dim: 10, partial_rotary_factor: 0.5 }, 'partial_rotary_factor 0.5 of head_dim 10'],
    [{ num_hidden_layers: -1 }, 'num_hidden_layers -1 below limit 1'],
    [{ num_hidden_layers: 1e9 }, 'num_hidden_layers 1000000000 above limit'],
    [{ vocab_size: 2 ** 31 }, 'vocab_size 2147483648 above limit'],
    [{ max_position_embeddings: 1e12 }, 'max_position_embeddings 1000000000000 above limit'],
    [{ hidden_size: 64.5 }, 'hidden_size: got 64.5, expected an integer'],
    [{ hidden_size: '64' }, 'hidden_size: got "64", expected a number'],
    [{ hidden_size: undefined }, 'hidden_size: missing, expected a number'],
    [{ tie_word_embeddings: 'yes' }, 'tie_word_embeddings: got "yes", expected true or false'],
  ];
  for (const [changes, problem] of cases)
    assertFails(() => read(changes), 'bad_model', `config.json: ${problem}`);
});

test('an activation that the engine lacks lists those that it has', () => {
  const folder = writeFiles(temporaryFolder(), {
    'config.json': { ...CONFIG, hidden_act: 'banana' },
  });
  const { reader } = readModelConfig(folder);
  assertFails(
    () => readActivation(reader),
    'unsupported',
    'hidden_act "banana" not supported: expected silu',
  );
});

test('files that are no configuration', () => {
  const file = (content: string | Uint8Array) =>
    writeFiles(temporaryFolder(), { 'config.json': content });
  assertFails(() => readModelConfig(temporaryFolder()), 'bad_model', 'config.json: missing');
  assertFails(
    () => readModelConfig(file('[]')),
    'bad_model',
    'got an array, expected a JSON object',
  );
  assertFails(() => readModelConfig(file('{"a":')), 'bad_model', 'not JSON');
  assertFails(
    () => readModelConfig(file(Uint8Array.of(0x7b, 0xff, 0x7d))),
    'bad_model',
    'not UTF-8',
  );
  assertFails(
    () => readModelConfig(file('{"a":'.repeat(1000))),
    'bad_model',
    'more than 64 nested levels',
  );
  assertFails(
    () => readModelConfig(file(' '.repeat(2 ** 20 + 1))),
    'bad_model',
    'expected at most 1048576',
  );
  assertFails(() => readModelConfig(file('{}')), 'bad_model', 'model_type: missing');
});

test('a byte order mark and brackets in strings do no harm', () => {
  const text = JSON.stringify({ ...CONFIG, note: '\\"' + '['.repeat(100) });
  const folder = writeFiles(temporaryFolder(), { 'config.json': `\ufeff${text}` });
  assert.equal(readModelConfig(folder).modelType, 'qwen3');
});
