import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCheckpoint } from '../../../extension/engine/loading/checkpoint';
import { assertFails, f32, safetensors, temporaryFolder, writeFiles } from './model_fixture';

const INDEX = 'model.safetensors.index.json';
const shard = (...names: string[]) =>
  safetensors(Object.fromEntries(names.map((name) => [name, f32([1])])));
const folderWith = (files: Record<string, unknown>) =>
  writeFiles(temporaryFolder(), { 'config.json': {}, ...files });

test('an index decides which files belong to the model', () => {
  const store = openCheckpoint(
    folderWith({
      [INDEX]: {
        metadata: { total_size: 8 },
        weight_map: { a: 'model-1.safetensors', b: 'model-2.safetensors' },
      },
      'model-1.safetensors': shard('a'),
      'model-2.safetensors': shard('b'),
      'model-mtp.safetensors': shard('c'), // not in the index: not loaded
    }),
  );
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => store.has(name)),
    [true, true, false],
  );
  store.close();
});

test('without an index every model*.safetensors counts, and a name in two of them is an error', () => {
  const store = openCheckpoint(
    folderWith({ 'model-1.safetensors': shard('a'), 'model-2.safetensors': shard('b') }),
  );
  assert.ok(store.has('a') && store.has('b'));
  const twice = folderWith({
    'model-1.safetensors': shard('a'),
    'model-2.safetensors': shard('a', 'b'),
  });
  assertFails(
    () => openCheckpoint(twice),
    'bad_model',
    'tensor "a": in both',
    'model-1',
    'model-2',
  );
  assertFails(() => openCheckpoint(folderWith({})), 'bad_model', 'no weights');
});

test('an index that names what is not there', () => {
  const missing = folderWith({
    [INDEX]: { weight_map: { a: 'model-1.safetensors', b: 'model-2.safetensors' } },
  });
  assertFails(
    () => openCheckpoint(missing),
    'bad_model',
    'model-1.safetensors, model-2.safetensors: missing',
  );
  const files = { 'model-1.safetensors': shard('a', 'extra') };
  const absent = folderWith({
    [INDEX]: { weight_map: { a: 'model-1.safetensors', b: 'model-1.safetensors' } },
    ...files,
  });
  assertFails(
    () => openCheckpoint(absent),
    'bad_model',
    '"b": the index says model-1.safetensors, not there',
  );
  const extra = folderWith({ [INDEX]: { weight_map: { a: 'model-1.safetensors' } }, ...files });
  assertFails(() => openCheckpoint(extra), 'bad_model', 'the index does not list: extra');
});

test('an index never leads out of the folder', () => {
  for (const name of [
    '../x.safetensors',
    '/etc/passwd',
    'C:\\x.safetensors',
    'a\0.safetensors',
    'CON.safetensors',
    '..',
    7,
  ]) {
    const folder = folderWith({ [INDEX]: { weight_map: { a: name } } });
    assertFails(() => openCheckpoint(folder), 'bad_model', INDEX, 'is outside the model directory');
  }
  assertFails(
    () => openCheckpoint(folderWith({ [INDEX]: { weight_map: [] } })),
    'bad_model',
    'weight_map: got []',
  );
});
