import { KV_GROUP } from '../backend';

/**
 * Rounds each head [dim] of a row to what integers of 8 bits keep of it: codes of at most 127 times a scale for every
 * KV_GROUP columns. In the same float32 steps as native/cpu/shared/kv_store.h.
 */
export function roundToCodes(row: Float32Array, dim: number): void {
  for (let head = 0; head < row.length; head += dim) {
    for (let begin = head; begin < head + dim; begin += KV_GROUP) {
      const group = row.subarray(begin, Math.min(begin + KV_GROUP, head + dim));
      const { codes, scale } = codesOf(group);
      for (const [i, code] of codes.entries()) group[i] = code * scale;
    }
  }
}

/** The codes of up to KV_GROUP columns, and what they are multiplied by. */
export function codesOf(group: Float32Array): { codes: Int8Array; scale: number } {
  const largest = group.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
  const inverse = largest > 0 ? Math.fround(127 / largest) : 0;
  const codes = Int8Array.from(group, (x) => halfToEven(Math.fround(x * inverse)));
  return { codes, scale: Math.fround(largest / 127) };
}

function halfToEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}
