import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BLOCK_DECODERS } from '../../../../../extension/engine/backend/reference/formats';
import { blockLayout } from '../../../../../extension/engine/loading/gguf/types';
import type { BlockType } from '../../../../../extension/engine/loading/weights';
import { FIXTURES } from '../../../loading/model_fixture';

/** Made by scripts/gguf-blocks.py: random blocks, and their values according to the format's makers. */
const CASES = JSON.parse(readFileSync(join(FIXTURES, 'gguf-blocks.json'), 'utf8')) as Record<
  string,
  { readonly blocks: string; readonly values: string }
>;

test('there is a fixture for every block format', () => {
  assert.deepEqual(Object.keys(CASES).sort(), Object.keys(BLOCK_DECODERS).sort());
});

for (const [name, { blocks, values }] of Object.entries(CASES)) {
  test(`${name} has the values that the package gguf gives it`, () => {
    const type = name as BlockType;
    const bytes = new Uint8Array(Buffer.from(blocks, 'base64'));
    const expected = new Float32Array(new Uint8Array(Buffer.from(values, 'base64')).buffer);
    const { blockSize, blockBytes } = blockLayout(type);
    const got = new Float32Array(expected.length);
    for (let i = 0; i * blockBytes < bytes.length; i++) {
      BLOCK_DECODERS[type](bytes, i * blockBytes, got, i * blockSize);
    }
    for (const [i, value] of expected.entries()) {
      // One product of the package is rounded to float32 before the next.
      const error = Math.abs((got[i] ?? NaN) - value);
      assert.ok(error <= 1e-6 * Math.max(Math.abs(value), 1), `value ${i}: ${got[i]} for ${value}`);
    }
  });
}
