import type { Draw, Drawn } from '../../../extension/engine/backend/backend';
import { sample } from '../../../extension/engine/generation/sampler';
import { GREEDY } from '../../../extension/engine/generation/types';

export const GREEDY_DRAW: Draw = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 0,
  index: 0,
  allowed: null,
};

/** The ids of a mask below `columns`. */
export function allowedIds({ allowed }: Draw, columns: number): number[] | null {
  if (allowed === null) return null;
  return Array.from({ length: columns }, (_, id) => id).filter(
    (id) => (((allowed[id >> 5] ?? 0) >>> (id & 31)) & 1) === 1,
  );
}

/** What a backend is to draw from logits [draws, any width], by the sampler in TypeScript. */
export function drawTokens(
  logits: Float32Array,
  draws: readonly (Draw | null)[],
  columns: number,
): Drawn {
  const width = logits.length / Math.max(draws.length, 1);
  const rows = draws.map((_, row) => logits.slice(row * width, (row + 1) * width));
  const ids = draws.map((draw, row) => {
    if (draw === null) return -1;
    const values = (rows[row] as Float32Array).subarray(0, columns);
    const params = { ...GREEDY, ...draw };
    const id = sample(values.slice(), params, [], draw.index, allowedIds(draw, columns));
    return Number.isFinite(values[id]) ? id : -1;
  });
  const wanted = rows.filter((_, row) => draws[row] === null);
  return {
    ids: Int32Array.from(ids),
    logits: Float32Array.from(wanted.flatMap((row) => [...row])),
  };
}
