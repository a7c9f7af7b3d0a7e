/** What the addon says to files that are not what the weight store said. */
import assert from 'node:assert/strict';
import { rmSync, truncateSync } from 'node:fs';
import { describe, test } from 'node:test';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import type { StoredTensor, Weight } from '../../extension/engine/loading/weights';
import { relativeError, Runner, TestProgram } from './harness';

const options = {
  precision: 'fast',
  kvBlocks: 1,
  maxTokens: 8,
  maxLogitRows: 8,
  threads: 2,
} as const;
const coding = { bits: 4, groupSize: 64, scales: 'BF16' } as const;

async function refuses(expected: object, prepare: (test: TestProgram) => void): Promise<void> {
  const test = new TestProgram();
  const program = test.finish(test.linear(test.embed(64, 64), 64, coding));
  prepare(test);
  await assert.rejects(loadNativeBackend().compile(program, test.weights, options), expected);
  test.weights.close();
}

/** The 4-bit matrix of the linear, with other fields. */
const affine = (test: TestProgram, change: (weight: Weight & { kind: 'affine' }) => object) =>
  test.weights.replace('matrix1', (weight) => {
    assert.equal(weight.kind, 'affine');
    return { ...weight, ...change(weight) };
  });

describe('weights are refused', () => {
  test('when the file was cut', () =>
    refuses({ code: 'bad_model', message: /the file ends at byte 1000;/ }, (t) =>
      truncateSync(t.weights.file, 1000),
    ));

  test('when the file is gone', () =>
    refuses({ code: 'bad_model', message: /cannot be opened: No such file/ }, (t) =>
      rmSync(t.weights.file),
    ));

  test('when a scale is not finite', () =>
    refuses({ code: 'bad_model', message: /matrix1.scales: 64 values not finite/ }, (t) => {
      t.weights.add('bad', 64, 1, 'BF16', Infinity);
      const bad = t.weights.weight('bad');
      assert.ok(bad.kind === 'dense');
      t.weights.save();
      affine(t, () => ({ scales: { ...bad.tensor, name: 'matrix1.scales' } }));
    }));

  const broken: {
    name: string;
    expected: object;
    change: (weight: Weight & { kind: 'affine' }) => object;
  }[] = [
    {
      name: 'in a width that MLX does not have',
      expected: { code: 'unsupported', message: /got 7 bits, expected 2, 3, 4, 5, 6 or 8/ },
      change: () => ({ bits: 7 }),
    },
    {
      name: 'in groups of another size',
      expected: { code: 'unsupported', message: /got groups of 16, expected 32, 64 or 128/ },
      change: () => ({ groupSize: 16 }),
    },
    {
      name: 'in groups that do not divide the columns',
      expected: { code: 'bad_model', message: /got 64 columns, expected a multiple of 128/ },
      change: () => ({ groupSize: 128 }),
    },
    {
      name: 'with another shape',
      expected: { code: 'bad_model', message: /codes: got \[64, 7\], expected \[64, 8\]/ },
      change: ({ packed }) => ({ packed: { ...packed, shape: [64, 7] } }),
    },
    {
      name: 'with too few bytes',
      expected: { code: 'bad_model', message: /codes: got 2047 bytes, expected 2048/ },
      change: ({ packed }) => ({ packed: { ...packed, byteLength: 2047 } }),
    },
    {
      name: 'of another type',
      expected: { code: 'internal', message: /dtype: got I64, expected F32, F16, BF16, U32/ },
      change: ({ scales }) => ({ scales: { ...scales, dtype: 'I64' } }),
    },
  ];
  for (const { name, expected, change } of broken) {
    test(name, () => refuses(expected, (t) => affine(t, change)));
  }
});

test('a tensor in pieces is taken from the weight store', async () => {
  const test = new TestProgram();
  const program = test.finish(test.linear(test.embed(64, 64), 64, coding));
  const one = [{ tokens: [5, 6], start: 0 }];
  const plain = await Runner.create(loadNativeBackend(), program, test.weights);
  const expected = await plain.step(one);
  const part = { shape: [64, 64], start: 0, length: 64, stride: 64, count: 1 };
  affine(test, ({ packed }) => ({ packed: gathered(packed) }));
  const got = await Runner.create(loadNativeBackend(), program, test.weights);
  assert.equal(relativeError(await got.step(one), expected), 0);

  function gathered(whole: StoredTensor): StoredTensor {
    return { ...whole, gather: { whole, part } };
  }
  for (const { executable } of [plain, got]) executable.dispose();
  test.weights.close();
});
