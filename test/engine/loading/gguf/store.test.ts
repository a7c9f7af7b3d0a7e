import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withBytes } from '../../../../extension/engine/backend/carried_weights';
import { dequantize } from '../../../../extension/engine/backend/reference/weights';
import { GgufFile } from '../../../../extension/engine/loading/gguf/gguf_file';
import { HYBRID_NAMES } from '../../../../extension/engine/loading/gguf/names';
import { GgufStore } from '../../../../extension/engine/loading/gguf/store';
import { assertFails, temporaryFolder } from '../model_fixture';
import { gguf, type Tensor } from './gguf_fixture';

const Q8_0 = 8;

function storeOf(...tensors: readonly Tensor[]): GgufStore {
  const path = join(temporaryFolder(), 'model.gguf');
  writeFileSync(path, gguf({ tensors }));
  return new GgufStore([GgufFile.open(path)], HYBRID_NAMES, [1]);
}

/** Blocks of a half scale of 1 and 32 codes: `at(i)` is value i. */
function q8(count: number, at: (i: number) => number): Uint8Array {
  const blocks = Array.from({ length: count / 32 }, (_, block) => [
    ...[0x00, 0x3c],
    ...Array.from({ length: 32 }, (_, i) => at(32 * block + i) & 0xff),
  ]);
  return Uint8Array.from(blocks.flat());
}

test('a quantized stack of matrices with swapped axes becomes floats, for every backend', () => {
  const [heads, rank, nope] = [2, 3, 32];
  const value = (i: number) => (i % 101) - 50;
  const name = 'blk.0.attn_k_b.weight';
  const shape = [heads, rank, nope];
  const store = storeOf({ name, type: Q8_0, shape, data: q8(heads * rank * nope, value) });
  const rows = heads * nope;
  const part = { shape, start: 0, length: rows, stride: rows, count: 1, transposed: true };
  const weight = store.weight('model.layers.0.self_attn.k_b_proj.weight', rows, rank, part);
  const expected = Float32Array.from({ length: rows * rank }, (_, i) => {
    const [row, col] = [Math.floor(i / rank), i % rank];
    return value((Math.floor(row / nope) * rank + col) * nope + (row % nope));
  });
  assert.deepEqual(dequantize(weight, rank, store), expected);
  const carried = withBytes(weight, store);
  assert.ok(carried.kind === 'dense');
  const {
    dtype,
    shape: carriedShape,
    bytes,
  } = carried.tensor as typeof carried.tensor & {
    bytes: Uint8Array;
  };
  assert.deepEqual([dtype, carriedShape], ['F32', [rows, rank]]);
  assert.deepEqual(new Float32Array(bytes.buffer), expected);
});

test('a decay is read as its logarithm; one that grows is refused', () => {
  const vector = (name: string, values: number[]): Tensor => ({
    name,
    shape: [values.length],
    data: new Uint8Array(Float32Array.from(values).buffer),
  });
  const store = storeOf(vector('blk.0.ssm_a', [-1, -8]), vector('blk.2.ssm_a', [-1, 0.5]));
  const decay = (layer: number) =>
    dequantize(store.weight(`model.layers.${layer}.linear_attn.A_log`, 1, 2), 2, store);
  assert.deepEqual(decay(0), Float32Array.of(0, Math.log(8)));
  assertFails(() => decay(2), 'bad_model', 'blk.2.ssm_a: 1 of 2 values not finite');
});

test('only tensors of layers that are not run may be left over', () => {
  const norm = (layer: number): Tensor => ({ name: `blk.${layer}.attn_norm.weight`, shape: [4] });
  storeOf(norm(1)).assertAllUsed();
  assertFails(() => storeOf(norm(1), norm(2)).assertAllUsed(), 'bad_model', 'model.layers.2.');
});
