import type { PrefixNode } from './prefix';
import { Stops } from './stops';

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
  /** Where that state is kept for others; each is a whole number of blocks. */
  stops: Stops;
}

export interface AcquireOptions {
  /** False: each token is to be run; default true. */
  readonly canShare?: boolean;
  /** The text is kept beyond the process: its state is wanted where a whole part of it ends; default false. */
  readonly isSaved?: boolean;
}

export const emptyTable = (): BlockTable => ({
  blocks: [],
  path: [],
  length: 0,
  slot: null,
  stops: new Stops(),
});
