import { dirname } from 'node:path';
import type { Program } from '../core/program';
import { allowedRoot, ModelFile } from '../loading/model_file';
import { type StoredTensor, tensorsOf, type Weight, type WeightStore } from '../loading/weights';

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

function identityOf(path: string): string {
  const file = ModelFile.open(path, allowedRoot(dirname(path)));
  try {
    return file.identity();
  } finally {
    file.close();
  }
}
