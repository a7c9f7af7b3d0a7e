import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { Program } from '../core/program';
import { type StoredTensor, tensorsOf, type Weight, type WeightStore } from '../loading/weights';

/** Bytes at each end of a file that stand for all of it, beside its length and time. */
const SAMPLE_BYTES = 64 * 1024;

/** A program's weights, in its order. Throws bad_model when one is missing or has another shape. */
export function weightsOf(program: Program, store: WeightStore): readonly Weight[] {
  return program.weights.map(({ name, rows, cols, part }) => store.weight(name, rows, cols, part));
}

/**
 * Plain data that is equal for equal weights, and for no others: where each comes from, how it is stored, and what its
 * file holds.
 */
export function describeWeights(program: Program, weights: readonly Weight[]): unknown {
  const files = new Map<string, string>();
  const tensor = (stored: StoredTensor) => {
    const { name, file, offset, byteLength, shape } = stored;
    const identity = files.get(file) ?? identityOf(file);
    files.set(file, identity);
    return [name, identity, offset, byteLength, shape];
  };
  return weights.map((weight, i) => [
    program.weights[i],
    { ...weight, tensor: null, packed: null, scales: null, biases: null },
    tensorsOf(weight).map(tensor),
  ]);
}

/** What a file holds, without reading all of it: a replaced one has another time, length or beginning. */
function identityOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  const hash = createHash('sha256').update(`${size} ${mtimeMs} `);
  const descriptor = openSync(file, 'r');
  try {
    const sample = Buffer.alloc(SAMPLE_BYTES);
    for (const at of [0, Math.max(0, size - SAMPLE_BYTES)]) {
      hash.update(sample.subarray(0, readSync(descriptor, sample, 0, SAMPLE_BYTES, at)));
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest('hex');
}
