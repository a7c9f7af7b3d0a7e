import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigReader } from '../../../extension/engine/loading/config_reader';
import { readRope } from '../../../extension/engine/loading/rope_config';
import { assertFails } from './model_fixture';

const read = (values: Record<string, unknown>) => {
  const reader = new ConfigReader('config.json', values);
  const rope = readRope(reader, 4096);
  reader.assertAllRead();
  return rope;
};

const LLAMA3 = {
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

test('the old and the new form of one configuration are one configuration', () => {
  const expected = {
    theta: 500_000,
    rotaryFraction: 1,
    type: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalContext: 8192,
  };
  const forms = [
    { rope_theta: 500_000, rope_scaling: { rope_type: 'llama3', ...LLAMA3 } },
    { rope_theta: 500_000, rope_scaling: { type: 'llama3', ...LLAMA3 } },
    { rope_parameters: { rope_type: 'llama3', rope_theta: 500_000, ...LLAMA3 } },
    {
      rope_theta: 500_000,
      rope_parameters: { rope_type: 'llama3', rope_theta: 500_000, ...LLAMA3 },
      rope_scaling: {},
    },
  ];
  for (const form of forms) assert.deepEqual(read(form), expected);
});

test('defaults: no scaling, base 10,000, the whole head', () => {
  assert.deepEqual(read({ rope_scaling: null }), {
    theta: 10_000,
    rotaryFraction: 1,
    type: 'default',
  });
});

test('yarn without an original context takes the model’s', () => {
  const rope = read({ rope_scaling: { type: 'yarn', factor: 4 } });
  assert.ok(rope.type === 'yarn');
  assert.deepEqual(
    [rope.originalContext, rope.betaFast, rope.betaSlow, rope.truncate],
    [4096, 32, 1, true],
  );
});

test('longrope: its factor on cos and sin follows from how far it stretches', () => {
  const lists = { short_factor: [1, 1.5], long_factor: [2, 64] };
  const phi4 = {
    original_max_position_embeddings: 128,
    partial_rotary_factor: 0.75,
    rope_scaling: { type: 'longrope', ...lists },
  };
  const rope = read(phi4);
  assert.ok(rope.type === 'longrope');
  assert.deepEqual(
    [rope.originalContext, rope.rotaryFraction, rope.shortFactors, rope.longFactors],
    [128, 0.75, [1, 1.5], [2, 64]],
  );
  assert.equal(rope.attentionFactor, Math.sqrt(1 + Math.log(32) / Math.log(128)));
  assert.deepEqual(
    read({
      rope_parameters: {
        rope_type: 'longrope',
        original_max_position_embeddings: 128,
        partial_rotary_factor: 0.75,
        ...lists,
      },
    }),
    rope,
  );
  assert.deepEqual(read({ ...phi4, rope_scaling: { type: 'su', ...lists } }), rope);
  const missing = { ...phi4, rope_scaling: { type: 'longrope', short_factor: [1] } };
  assertFails(() => read(missing), 'bad_model', 'rope_scaling.long_factor');
});

test('dynamic scaling begins where no text gets to', () => {
  const plain = { theta: 10_000, rotaryFraction: 1, type: 'default' };
  assert.deepEqual(read({ rope_scaling: { type: 'dynamic', factor: 2 } }), plain);
});

test('yarn with a multiplier on what it computes', () => {
  const rope = read({
    rope_scaling: {
      attn_factor: 0.8782488562869419,
      factor: 4,
      original_max_position_embeddings: 32_768,
      rope_type: 'yarn',
    },
  });
  assert.ok(rope.type === 'yarn');
  assert.equal(rope.attentionMultiplier, 0.8782488562869419);
});

test('a rotation that the engine does not compute is never ignored', () => {
  for (const type of ['mrope', 'xyz']) {
    const form = { rope_scaling: { rope_type: type, factor: 2 } };
    assertFails(
      () => read(form),
      'unsupported',
      `"${type}" not supported: expected default, dynamic, linear, frequency_factors, llama3, yarn, longrope, su`,
    );
  }
  const unknown = { rope_scaling: { rope_type: 'linear', factor: 2, twist: 3 } };
  assertFails(() => read(unknown), 'unsupported', 'rope_scaling.twist 3');
});

test('values that would make nonsense of positions', () => {
  assertFails(() => read({ rope_theta: 0 }), 'bad_model', 'rope_theta 0 below limit');
  assertFails(() => read({ rope_theta: -1 }), 'bad_model', 'rope_theta -1 below limit');
  assertFails(() => read({ rope_theta: 'NaN' }), 'bad_model', 'rope_theta: got "NaN"');
  assertFails(
    () => read({ rope_scaling: { type: 'linear', factor: 0 } }),
    'bad_model',
    'rope_scaling.factor 0',
  );
  assertFails(
    () => read({ rope_scaling: { type: 'linear' } }),
    'bad_model',
    'rope_scaling.factor: missing',
  );
  const swapped = { rope_scaling: { rope_type: 'llama3', ...LLAMA3, low_freq_factor: 4 } };
  assertFails(
    () => read(swapped),
    'bad_model',
    'low_freq_factor 4 is not below high_freq_factor 4',
  );
  const torn = { rope_theta: 1e4, rope_parameters: { rope_type: 'default', rope_theta: 1e6 } };
  assertFails(
    () => read(torn),
    'bad_model',
    'rope_theta 10000 contradicts rope_parameters.rope_theta 1000000',
  );
});
