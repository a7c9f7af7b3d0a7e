import type { Random } from './numbers';
import type { Fields } from './runner';

/** Tokens in one block: BLOCK_TOKENS of metal/params.h. */
export const BLOCK = 16;

/** One step over a paged pool whose blocks lie in random order. */
export interface Step {
  /** T */
  readonly rows: number;
  readonly positions: Int32Array;
  readonly sequenceOf: Int32Array;
  /** First row of each sequence, and T. */
  readonly offsets: Int32Array;
  readonly blockTables: Int32Array;
  readonly blocksPerSequence: number;
  readonly blocks: number;
}

/** `sequences`: positions already in the pool, and new rows, of each. */
export function makeStep(
  sequences: readonly { readonly past: number; readonly rows: number }[],
  random: Random,
): Step {
  const lengths = sequences.map(({ past, rows }) => past + rows);
  const needed = lengths.map((length) => Math.ceil(length / BLOCK));
  const blocksPerSequence = Math.max(...needed);
  const blocks = needed.reduce((a, b) => a + b, 0) + 2;
  const free = Array.from({ length: blocks }, (_, i) => i);
  const blockTables = new Int32Array(sequences.length * blocksPerSequence).fill(-1);
  for (const [s, count] of needed.entries()) {
    for (let i = 0; i < count; i++) {
      blockTables[s * blocksPerSequence + i] = free.splice(random.int(free.length), 1)[0] as number;
    }
  }
  const offsets = [0];
  for (const { rows } of sequences) offsets.push((offsets.at(-1) as number) + rows);
  return {
    rows: offsets.at(-1) as number,
    positions: Int32Array.from(
      sequences.flatMap(({ past, rows }) => Array.from({ length: rows }, (_, i) => past + i)),
    ),
    sequenceOf: Int32Array.from(sequences.flatMap(({ rows }, s) => Array<number>(rows).fill(s))),
    offsets: Int32Array.from(offsets),
    blockTables,
    blocksPerSequence,
    blocks,
  };
}

/** First element of a head's vector in the pool [blocks, kvHeads, BLOCK, dim]. */
export function slotOf(
  step: Step,
  sequence: number,
  position: number,
  kvHeads: number,
  head: number,
  dim: number,
): number {
  const block = step.blockTables[
    sequence * step.blocksPerSequence + Math.floor(position / BLOCK)
  ] as number;
  return ((block * kvHeads + head) * BLOCK + (position % BLOCK)) * dim;
}

/** The fields of a request that describe a step. */
export function stepFields(step: Step): Fields {
  return {
    numbers: { rows: step.rows, blocks_per_sequence: step.blocksPerSequence },
    inputs: {
      positions: step.positions,
      sequence_of: step.sequenceOf,
      block_tables: step.blockTables,
    },
  };
}
