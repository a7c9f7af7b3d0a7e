import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openCheckpoint } from '../../../extension/engine/loading/checkpoint';
import {
  assertFails,
  f32,
  FIXTURES,
  safetensors,
  temporaryFolder,
  u32,
  writeFiles,
  type Entry,
} from './model_fixture';

const QUANTIZED = {
  quantization: { group_size: 32, bits: 4, 'layers.1': { group_size: 64, bits: 8 } },
};

function model(tensors: Record<string, Entry>, config: object = {}) {
  const folder = writeFiles(temporaryFolder(), {
    'config.json': config,
    'model.safetensors': safetensors(tensors),
  });
  return openCheckpoint(folder);
}

/** An affine weight [rows, cols]. */
const affine = (name: string, rows: number, cols: number, bits: number, group: number) => ({
  [`${name}.weight`]: u32([rows, (cols * bits) / 32]),
  [`${name}.scales`]: f32([rows, cols / group]),
  [`${name}.biases`]: f32([rows, cols / group]),
});

test('the fixtures open, dense and quantized, and give the bytes of a tensor', () => {
  for (const [name, kind] of [
    ['qwen3', 'dense'],
    ['qwen3-mlx-q4-g64', 'affine'],
  ] as const) {
    const store = openCheckpoint(join(FIXTURES, 'conformance', name));
    const weight = store.weight('model.layers.0.mlp.up_proj.weight', 192, 128);
    assert.equal(weight.kind, kind);
    const tensor = weight.kind === 'dense' ? weight.tensor : weight.packed;
    const bytes = store.read(tensor);
    assert.equal(bytes.byteLength, tensor.byteLength);
    assert.equal(bytes.byteOffset, 0);
    store.close();
  }
});

test('a wrong shape or type names the tensor, what was found and what was expected', () => {
  const store = model({ 'a.weight': f32([2, 4]), 'i.weight': u32([2, 4]), 'n.weight': f32([4]) });
  assertFails(
    () => store.weight('a.weight', 4, 2),
    'bad_model',
    'a.weight: got F32 [2, 4], expected [4, 2]',
  );
  assertFails(
    () => store.weight('i.weight', 2, 4),
    'bad_model',
    'i.weight: got U32, expected F32, F16 or BF16',
  );
  assertFails(
    () => store.weight('n.weight', 1, 5),
    'bad_model',
    'n.weight: got F32 [4], expected [5]',
  );
  assertFails(() => store.weight('b.weight', 1, 5), 'bad_model', 'tensor "b.weight": missing');
  assert.equal(store.weight('n.weight', 1, 4).kind, 'dense');
});

test('zero-size and scalar tensors are no matrices', () => {
  const store = model({ 'z.weight': f32([0, 4]), 's.weight': f32([], [1]) });
  assertFails(() => store.weight('z.weight', 2, 4), 'bad_model', 'got F32 [0, 4], expected [2, 4]');
  assertFails(() => store.weight('s.weight', 1, 1), 'bad_model', 'got F32 [], expected [1, 1]');
});

test('quantized weights follow the config, exceptions by module and stray prefixes included', () => {
  const store = model(
    {
      ...affine('layers.0', 2, 128, 4, 32),
      ...affine('layers.1', 2, 128, 8, 64),
      ...affine('layers.2', 2, 64, 3, 32),
    },
    {
      quantization: {
        ...QUANTIZED.quantization,
        'language_model.layers.2': { group_size: 32, bits: 3, mode: 'affine' },
      },
    },
  );
  const formats = [0, 1, 2].map((i) => {
    const weight = store.weight(`layers.${i}.weight`, 2, i === 2 ? 64 : 128);
    return weight.kind === 'affine' ? [weight.bits, weight.groupSize] : null;
  });
  assert.deepEqual(formats, [
    [4, 32],
    [8, 64],
    [3, 32],
  ]);
  store.assertAllUsed();
});

test('quantized tensors that do not fit each other or the config', () => {
  const good = affine('layers.0', 2, 128, 4, 32);
  const weigh =
    (tensors: Record<string, Entry>, config: object = QUANTIZED) =>
    () =>
      model(tensors, config).weight('layers.0.weight', 2, 128);
  const wide = { ...good, 'layers.0.weight': u32([2, 32]) };
  assertFails(weigh(wide), 'bad_model', 'layers.0.weight: got U32 [2, 32], expected [2, 16]');
  const coarse = { ...good, 'layers.0.scales': f32([2, 2]) };
  assertFails(weigh(coarse), 'bad_model', 'layers.0.scales: got F32 [2, 2], expected [2, 4]');
  const float = { ...good, 'layers.0.weight': f32([2, 16]) };
  assertFails(weigh(float), 'bad_model', 'layers.0.weight: got F32, expected U32');
  const unbiased = Object.fromEntries(
    Object.entries(good).filter(([name]) => name !== 'layers.0.biases'),
  );
  assertFails(weigh(unbiased), 'bad_model', 'tensor "layers.0.biases": missing');
  assertFails(weigh(good, {}), 'bad_model', 'layers.0.scales: not expected');
  const off = { quantization: { group_size: 32, bits: 4, 'layers.0': false } };
  assertFails(weigh(good, off), 'bad_model', 'layers.0.scales: not expected');
  const store = model(affine('layers.0', 2, 96, 4, 32), {
    quantization: { group_size: 64, bits: 4 },
  });
  assertFails(
    () => store.weight('layers.0.weight', 2, 96),
    'bad_model',
    'group_size 64 does not divide 96',
  );
});

test('quantizations that are none of MLX are refused by name', () => {
  const open = (config: object) => () => model({ a: f32([1]) }, config);
  assertFails(
    open({ quantization: { bits: 5, group_size: 7 } }),
    'unsupported',
    'group_size: got 7, expected 32, 64, 128',
  );
  assertFails(
    open({ quantization: { bits: 7 } }),
    'unsupported',
    'bits: got 7, expected 2, 3, 4, 5, 6, 8',
  );
  assertFails(
    open({ quantization: { mode: 'mxfp6' } }),
    'unsupported',
    'mode: got "mxfp6", expected affine, mxfp4, mxfp8, nvfp4',
  );
  assertFails(
    open({ quantization: { mode: 'nvfp4', group_size: 32 } }),
    'unsupported',
    'group_size: got 32, expected 16',
  );
  assertFails(
    open({ quantization_config: { quant_method: 'awq', bits: 4 } }),
    'unsupported',
    'method "awq"',
  );
  assertFails(open({ quantization: { bits: 4, lm_head: 3 } }), 'bad_model', '"lm_head": got 3');
});

test('one bad scale or norm weight is found when it is read, and counted', () => {
  const tensors = affine('layers.0', 2, 128, 4, 32);
  const store = model(
    {
      ...tensors,
      'layers.0.scales': f32([2, 4], [1, NaN, 3, Infinity, 0, 1e38, -1, 2]),
      'norm.weight': {
        dtype: 'BF16',
        shape: [4],
        data: Uint8Array.of(0x80, 0x3f, 0xc0, 0x7f, 0, 0, 0x80, 0xff),
      },
    },
    QUANTIZED,
  );
  const weight = store.weight('layers.0.weight', 2, 128);
  const norm = store.weight('norm.weight', 1, 4);
  assert.ok(weight.kind === 'affine' && norm.kind === 'dense');
  assertFails(
    () => store.read(weight.scales),
    'bad_model',
    'layers.0.scales: 2 of 8 values not finite',
  );
  assertFails(() => store.read(norm.tensor), 'bad_model', 'norm.weight: 2 of 4 values not finite');
  assert.equal(store.read(weight.biases).byteLength, 32);
});

test('tensors that nobody asked for are an error, except what follows from the config', () => {
  const tensors = {
    'a.weight': f32([2, 2]),
    'layers.0.rotary_emb.inv_freq': f32([2]),
    'lm_head.weight': f32([2, 2]),
  };
  const tied = model(tensors, { tie_word_embeddings: true });
  tied.weight('a.weight', 2, 2);
  tied.assertAllUsed();
  const untied = model(tensors, { tie_word_embeddings: false });
  assertFails(() => untied.assertAllUsed(), 'bad_model', 'does not use: a.weight, lm_head.weight');
});

test('missing tensors are counted', () => {
  const store = model({ 'a.weight': f32([2, 2]) });
  const names = ['a.weight', ...Array.from({ length: 5 }, (_, i) => `layers.${i}.weight`)];
  assertFails(
    () => store.assertPresent(names),
    'bad_model',
    'layers.0.weight, layers.1.weight, layers.2.weight and 2 more',
  );
});

test('a file in place of a folder: first what is wrong with it, then what is wanted', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'x.safetensors');
  writeFileSync(path, 'short');
  assertFails(() => openCheckpoint(path), 'bad_model', 'header too small');
  writeFileSync(path, safetensors({ a: f32([1]) }));
  assertFails(() => openCheckpoint(path), 'bad_model', 'is a file; give a GGUF file, or the');
  assertFails(() => openCheckpoint(join(folder, 'none')), 'bad_model', 'no such model folder');
});
