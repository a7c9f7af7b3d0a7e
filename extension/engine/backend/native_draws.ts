import type { Draw } from './backend';

/** The draws of a step as native/program/draws.h takes them. */
export function drawFields(draws: readonly (Draw | null)[]): Float64Array {
  let masks = 0;
  const fields = draws.flatMap((draw) =>
    draw === null
      ? [0, 0, 0, 1, 0, 0, 0, -1]
      : [
          1,
          draw.temperature,
          draw.topK,
          draw.topP,
          draw.minP,
          draw.seed,
          draw.index,
          draw.allowed === null ? -1 : masks++,
        ],
  );
  return Float64Array.from(fields);
}

/** The masks of all draws that have one, [masks][words]. */
export function drawMasks(draws: readonly (Draw | null)[], columns: number): Uint32Array {
  const words = Math.ceil(columns / 32);
  const masks = draws.flatMap((draw) => draw?.allowed ?? []);
  const all = new Uint32Array(masks.length * words);
  for (const [i, mask] of masks.entries()) all.set(mask.subarray(0, words), i * words);
  return all;
}
