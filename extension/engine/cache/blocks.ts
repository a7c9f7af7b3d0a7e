import { EngineError } from '../errors';

/** Blocks that hold so many tokens. */
export function blocksFor(tokens: number, blockSize: number): number {
  return Math.ceil(tokens / blockSize);
}

/**
 * The blocks of the KV pool and how many sequences hold each. A block is free, held, or idle: held by nobody, its
 * keys and values kept by the prefix tree until someone needs the space.
 */
export class BlockPool {
  private readonly refs: Int32Array;
  private readonly free: number[];

  constructor(readonly total: number) {
    this.refs = new Int32Array(total);
    // Taken from the end: low blocks first, so that a small load touches little memory.
    this.free = Array.from({ length: total }, (_, i) => total - 1 - i);
  }

  get numFree(): number {
    return this.free.length;
  }

  /** A block held once, or null when none is free. */
  allocate(): number | null {
    const block = this.free.pop();
    if (block === undefined) return null;
    this.refs[block] = 1;
    return block;
  }

  retain(block: number): void {
    this.refs[block] = this.refCount(block) + 1;
  }

  /** True when nobody holds the block any more: it is idle until `giveBack` or `retain`. */
  release(block: number): boolean {
    const left = this.refCount(block) - 1;
    if (left < 0)
      throw new EngineError('internal', `[block pool] block ${block} is released but not held`);
    this.refs[block] = left;
    return left === 0;
  }

  /** Makes an idle block free. */
  giveBack(block: number): void {
    this.free.push(block);
  }

  refCount(block: number): number {
    return this.refs[block] ?? 0;
  }

  /** The free blocks, for checks. */
  freeBlocks(): readonly number[] {
    return this.free;
  }
}
