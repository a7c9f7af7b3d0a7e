import type { Merges } from './bpe';

/** Merges of a BPE vocabulary: (left id, right id) → rank and resulting id. An open-addressing hash of integers. */
export class MergeTable implements Merges {
  private readonly mask: number;
  /** [slots, 4]: left, right, rank, result; left -1 = free. */
  private readonly entries: Int32Array;

  /** `count`: the most merges that will be set. */
  constructor(count: number) {
    const slots = 1 << (32 - Math.clz32(2 * count + 1));
    this.mask = slots - 1;
    this.entries = new Int32Array(4 * slots).fill(-1);
  }

  /** A pair that is set already keeps its first, lower rank. */
  set(left: number, right: number, rank: number, result: number): void {
    const at = this.probe(left, right);
    if (this.entries[at] !== -1) return;
    this.entries[at] = left;
    this.entries[at + 1] = right;
    this.entries[at + 2] = rank;
    this.entries[at + 3] = result;
  }

  find(left: number, right: number): number {
    const at = this.probe(left, right);
    return this.entries[at] === -1 ? -1 : at;
  }

  rank(handle: number): number {
    return this.entries[handle + 2] as number;
  }

  result(handle: number): number {
    return this.entries[handle + 3] as number;
  }

  /** Index of the pair's entry, or of the free one where it belongs. */
  private probe(left: number, right: number): number {
    let slot = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> 0;
    slot ^= slot >>> 15;
    for (; ; slot++) {
      const at = (slot & this.mask) * 4;
      const found = this.entries[at];
      if (found === -1 || (found === left && this.entries[at + 1] === right)) return at;
    }
  }
}
