import type { Draw, Executable, StepBatch } from '../../backend/backend';

/**
 * Runs a step. Of each row of logits [R] the id that the backend drew, -1 where logits are not numbers; or the logits
 * [at least vocabSize], where there is no draw, or no backend that draws.
 */
export async function drawStep(
  executable: Executable,
  batch: StepBatch,
  draws: readonly (Draw | null)[],
  vocabSize: number,
): Promise<readonly (Float32Array | number)[]> {
  const isDrawn = draws.some((draw) => draw !== null);
  const drawn = isDrawn ? await executable.stepDrawn?.(batch, draws, vocabSize) : undefined;
  const logits = drawn?.logits ?? (await executable.step(batch));
  const hasLogits = draws.map((draw) => draw === null || drawn === undefined);
  const width = logits.length / Math.max(hasLogits.filter(Boolean).length, 1);
  let start = 0;
  return hasLogits.map((has, row) =>
    has ? logits.subarray(start, (start += width)) : (drawn?.ids[row] ?? -1),
  );
}
