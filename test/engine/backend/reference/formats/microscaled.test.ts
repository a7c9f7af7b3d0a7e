import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dequantize } from '../../../../../extension/engine/backend/reference/weights';
import { openCheckpoint } from '../../../../../extension/engine/loading/checkpoint';
import {
  assertFails,
  safetensors,
  temporaryFolder,
  writeFiles,
  type Entry,
} from '../../../loading/model_fixture';

const u8 = (shape: readonly number[], values: readonly number[]): Entry => ({
  dtype: 'U8',
  shape,
  data: Uint8Array.from(values),
});
const packed = (shape: readonly number[], bytes: readonly number[]): Entry => ({
  dtype: 'U32',
  shape,
  data: Uint8Array.from(bytes),
});

/** The values of a weight [rows, cols] of a checkpoint in one of MLX's float modes. */
function values(mode: string, rows: number, cols: number, weight: Entry, scales: Entry): number[] {
  const folder = writeFiles(temporaryFolder(), {
    'config.json': { quantization: { mode } },
    'model.safetensors': safetensors({ 'a.weight': weight, 'a.scales': scales }),
  });
  const store = openCheckpoint(folder);
  try {
    const read = store.weight('a.weight', rows, cols);
    store.assertAllUsed();
    return [...dequantize(read, cols, store)];
  } finally {
    store.close();
  }
}

/** All 16 codes, two a byte, the first in the low nibble; twice. */
const CODES = Array.from({ length: 16 }, (_, i) => ((2 * i + 1) % 16) * 16 + ((2 * i) % 16));
const LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];
const times = (factor: number) => LEVELS.map((level) => level * factor);

test('mxfp4: E2M1 elements, one power of two for 32 columns', () => {
  const got = values('mxfp4', 2, 32, packed([2, 4], [...CODES, ...CODES]), u8([2, 1], [128, 125]));
  assert.deepEqual(got, [...times(2), ...times(2), ...times(0.25), ...times(0.25)]);
});

test('nvfp4: E2M1 elements, one E4M3 scale for 16 columns', () => {
  const scales = u8([1, 2], [0x38, 0x7e]); // 1 and 448
  const got = values('nvfp4', 1, 32, packed([1, 4], CODES), scales);
  assert.deepEqual(got, [...times(1), ...times(448)]);
});

test('mxfp8: E4M3 elements, one power of two for 32 columns', () => {
  const codes = [0x38, 0xb8, 0x7e, 0x01, 0x08, 0x00, ...Array<number>(26).fill(0x40)];
  const got = values('mxfp8', 1, 32, packed([1, 8], codes), u8([1, 1], [130]));
  const expected = [1, -1, 448, 2 ** -9, 2 ** -6, 0, ...Array<number>(26).fill(2)];
  assert.deepEqual(
    got,
    expected.map((value) => 8 * value),
  );
});

test('scales of another type or that are no number are refused', () => {
  const weight = packed([1, 4], CODES);
  const floats = { dtype: 'F32', shape: [1, 1], data: new Uint8Array(4) };
  assertFails(
    () => values('mxfp4', 1, 32, weight, floats),
    'bad_model',
    'a.scales: got F32, expected U8',
  );
  assertFails(
    () => values('mxfp4', 1, 32, weight, u8([1, 1], [255])),
    'bad_model',
    'a.scales: 32 of 32 values not finite',
  );
  assertFails(
    () => values('mxfp4', 1, 64, weight, u8([1, 1], [127])),
    'bad_model',
    'a.weight: got U32 [1, 4], expected [1, 8]',
  );
});
