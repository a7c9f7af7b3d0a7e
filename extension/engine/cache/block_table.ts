import type { PrefixNode } from './prefix';

/** A sequence's blocks. Only `PagedCache` changes it. */
export interface BlockTable {
  /** Block b holds positions [b * blockSize, (b + 1) * blockSize). */
  readonly blocks: number[];
  /** The tree's nodes of the first blocks; blocks after them belong to this sequence alone. */
  readonly path: PrefixNode[];
  /** Keys and values of positions [0, length) are there. */
  length: number;
  /** Where the recurrent state after `length` tokens is; null for models without one, and when a step has spoilt it. */
  slot: number | null;
  /** Lengths, each a whole number of blocks, at which the state is kept for others; a step must not go beyond one. */
  stops: readonly number[];
}
