import type { Backend } from '../backend';
import { BLOCK_SIZE, ReferenceExecutable } from './executable';
import { loadWeights } from './weights';

/** Plain TypeScript, float32 storage with float64 accumulation: the oracle of every test, slow and right. */
export function createReferenceBackend(): Backend {
  return {
    name: 'reference',
    description: 'TypeScript reference, float32, 1 thread',
    kvBlockSize: BLOCK_SIZE,
    async compile(program, store, options) {
      const { tensors, byteLengths } = await loadWeights(program, store);
      return new ReferenceExecutable(program, tensors, byteLengths, options);
    },
  };
}
