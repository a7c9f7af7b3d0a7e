import type { Executable } from './backend/backend';
import { cosineOf } from './backend/cosine';
import { argmax } from './generation/sampler';

/** One prompt of golden.safetensors: logits from another implementation, and its greedy continuation. */
export interface GoldenPrompt {
  readonly ids: readonly number[];
  /** float32 [ids.length, vocab] */
  readonly logits: Float32Array;
  readonly greedy: readonly number[];
}

export interface Agreement {
  readonly maxAbsError: number;
  /** maxAbsError over the largest magnitude of the golden logits. */
  readonly relError: number;
  /** The lowest cosine of any row's logits. */
  readonly cosine: number;
  readonly greedyEqual: boolean;
}

/** What a backend must reach: exact ones agree to float32 rounding, int8 activations by direction. */
export const TOLERANCE = { relError: 2e-3, cosine: 0.999 } as const;

/** Runs the prompts on an executable whose pool holds one sequence, and compares. */
export async function compare(
  executable: Executable,
  kvBlocks: number,
  vocabSize: number,
  prompts: readonly GoldenPrompt[],
): Promise<Agreement> {
  let maxAbsError = 0;
  let largest = 0;
  let cosine = 1;
  let greedyEqual = true;
  const blockTables = Int32Array.from({ length: kvBlocks }, (_, i) => i);
  const run = (ids: readonly number[], start: number, rows: Int32Array) =>
    executable.step({
      tokens: Int32Array.from(ids),
      positions: Int32Array.from(ids, (_, i) => start + i),
      offsets: Int32Array.of(0, ids.length),
      blockTables,
      blocksPerSequence: kvBlocks,
      logitRows: rows,
      stateSlots: Int32Array.of(0),
    });
  for (const { ids, logits, greedy } of prompts) {
    const got = await run(ids, 0, Int32Array.from(ids.keys()));
    for (let row = 0; row < ids.length; row++) {
      const a = got.subarray(row * vocabSize, (row + 1) * vocabSize);
      const b = logits.subarray(row * vocabSize, (row + 1) * vocabSize);
      cosine = Math.min(cosine, cosineOf(a, b));
      for (const [i, expected] of b.entries()) {
        const error = Math.abs((a[i] ?? NaN) - expected);
        maxAbsError = Number.isNaN(error) ? Infinity : Math.max(maxAbsError, error);
        largest = Math.max(largest, Math.abs(expected));
      }
    }
    let next = argmax(got.subarray((ids.length - 1) * vocabSize));
    for (const [i, expected] of greedy.entries()) {
      if (next !== expected) greedyEqual = false;
      if (i + 1 < greedy.length)
        next = argmax(await run([expected], ids.length + i, Int32Array.of(0)));
    }
  }
  return { maxAbsError, relError: maxAbsError / largest, cosine, greedyEqual };
}
