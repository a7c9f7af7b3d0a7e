import { test } from 'node:test';
import { ConfigReader } from '../../../extension/engine/loading/config_reader';
import { assertFails } from './model_fixture';

const reader = (values: Record<string, unknown>) => new ConfigReader('config.json', values);

test('a key that nobody read may change the model, and is refused', () => {
  const config = reader({ hidden_size: 64, sliding_window: 128 });
  config.int('hidden_size', { min: 1, max: 100 });
  assertFails(
    () => config.assertAllRead(),
    'unsupported',
    'config.json: sliding_window 128: unknown key',
  );
});

test('keys without effect, and features that are off, need no reader', () => {
  reader({
    architectures: ['X'],
    torch_dtype: 'bfloat16',
    attention_dropout: 0.1,
    auto_map: { AutoModel: 'x.py' },
    _name_or_path: '/home/x',
    sliding_window: null,
    mlp_bias: false,
    mlp_only_layers: [],
  }).assertAllRead();
});

test('nested objects are tracked too', () => {
  const config = reader({ rope_parameters: { rope_theta: 1, surprise: 2 } });
  config.optionalObject('rope_parameters')?.float('rope_theta', { min: 0, max: 10 });
  assertFails(() => config.assertAllRead(), 'unsupported', 'rope_parameters.surprise 2');
});

test('a list names the element that is wrong', () => {
  const config = reader({ layer_types: ['full', 'moebius'], sizes: [1, -1] });
  assertFails(
    () => config.optionalList('layer_types', ['full']),
    'unsupported',
    'layer_types[1] "moebius"',
  );
  assertFails(
    () => config.optionalInts('sizes', { min: 0, max: 9 }),
    'bad_model',
    'sizes: got [1,-1]',
  );
});

test('a name from the prototype is no value', () => {
  assertFails(() => reader({}).string('constructor'), 'bad_model', 'constructor: missing');
});
