import type { Merges } from './bpe';

const FREE = -1;

/** What a table consists of, to be kept and made a table again. */
export interface MergeArrays {
  /** [merges, 4]: left, right, rank, result. */
  readonly entries: Int32Array;
  readonly slots: Int32Array;
}

/** Merges of a BPE vocabulary: (left id, right id) → rank and resulting id. */
export class MergeTable implements Merges {
  private readonly entries: Int32Array;
  /** An open-addressing hash of where entries begin, small enough for a processor's cache. */
  private readonly slots: Int32Array;
  private end = 0;

  /** `size`: the most merges that will be set, or those that are. */
  constructor(size: number | MergeArrays) {
    if (typeof size === 'number') {
      this.entries = new Int32Array(4 * size);
      this.slots = new Int32Array(1 << (32 - Math.clz32(1.5 * size + 1))).fill(FREE);
    } else {
      this.entries = size.entries;
      this.slots = size.slots;
      this.end = size.entries.length;
    }
  }

  arrays(): MergeArrays {
    return { entries: this.entries.subarray(0, this.end), slots: this.slots };
  }

  /** A pair that is set already keeps its first, lower rank. */
  set(left: number, right: number, rank: number, result: number): void {
    const slot = this.probe(left, right);
    if (this.slots[slot] !== FREE) return;
    const at = this.end;
    this.slots[slot] = at;
    this.entries[at] = left;
    this.entries[at + 1] = right;
    this.entries[at + 2] = rank;
    this.entries[at + 3] = result;
    this.end = at + 4;
  }

  find(left: number, right: number): number {
    return this.slots[this.probe(left, right)] as number;
  }

  rank(handle: number): number {
    return this.entries[handle + 2] as number;
  }

  result(handle: number): number {
    return this.entries[handle + 3] as number;
  }

  /** The slot that has the pair, or the free one where it belongs. */
  private probe(left: number, right: number): number {
    const mask = this.slots.length - 1;
    let hash = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> 0;
    hash ^= hash >>> 15;
    for (; ; hash++) {
      const slot = hash & mask;
      const at = this.slots[slot] as number;
      if (at === FREE || (this.entries[at] === left && this.entries[at + 1] === right)) return slot;
    }
  }
}
