import type { PagedCache } from '../../cache/paged';
import type { BlockTable } from '../../cache/block_table';
import { EngineError } from '../../errors';
import type { Slice } from './plan';
import type { Sequence } from './sequence';
import { UrgencyQueue } from './urgency';

/** Who waits, who runs, and who gives up blocks to whom: always the least urgent to the most urgent. */
export class Roster {
  readonly waiting = new UrgencyQueue<Sequence>();
  readonly running = new UrgencyQueue<Sequence>();
  /** Running sequences that lost their blocks and wait to be computed anew. */
  numPreempted = 0;

  constructor(
    private readonly cache: PagedCache,
    /** Most sequences that can draw a token in one step. */
    private readonly maxRows: number,
  ) {}

  /**
   * Starts waiting sequences in order of urgency while there is room; the first that has to wait holds up those
   * behind it, so that small requests never starve a large one.
   */
  admit(now: number): void {
    for (const sequence of this.waiting.toArray()) {
      if (!this.hasRow(sequence) || !this.makeRoom(sequence)) return;
      this.waiting.delete(sequence);
      const table = this.cache.acquire(sequence.tokens, sequence);
      sequence.start(table, now);
      sequence.countCached(table.length);
      this.running.add(sequence);
    }
    for (const { sequence, table } of this.holders()) this.catchUp(sequence, table);
  }

  /** Gives each slice the blocks it writes, the most urgent first; a slice whose sequence lost its own is left out. */
  reserve(slices: readonly Slice<Sequence>[]): Slice<Sequence>[] {
    const granted = new Set<Sequence>();
    for (const sequence of this.running.toArray()) {
      const slice = slices.find((candidate) => candidate.sequence === sequence);
      if (slice !== undefined && this.secure(slice)) granted.add(sequence);
    }
    return slices.filter(({ sequence }) => granted.has(sequence));
  }

  /** Takes a sequence out; its blocks are free, or idle in the prefix tree. */
  remove(sequence: Sequence): void {
    this.waiting.delete(sequence);
    this.running.delete(sequence);
    this.releaseBlocks(sequence);
  }

  numWaiting(rank: number): number {
    return [...this.waiting].filter((sequence) => sequence.rank === rank).length;
  }

  checkIntegrity(): void {
    for (const sequence of this.waiting) {
      if (sequence.table !== null)
        throw new EngineError('internal', '[scheduler] a waiting sequence holds blocks');
    }
    const holders = this.holders();
    if (holders.length !== this.running.size) {
      throw new EngineError('internal', '[scheduler] a running sequence has no block table');
    }
    this.cache.checkIntegrity(holders.map(({ table }) => table));
  }

  /** A row of logits is free, or someone less urgent will do without theirs. */
  private hasRow(sequence: Sequence): boolean {
    if (this.running.size < this.maxRows) return true;
    return (this.running.last?.rank ?? 0) > sequence.rank;
  }

  /** Whether all tokens of a waiting sequence fit, if need be after evicting less urgent ones. */
  private makeRoom(sequence: Sequence): boolean {
    for (;;) {
      const { running } = this;
      // A block for each running sequence to grow, so that this one is not evicted again at once.
      const promised = this.numPromised() + running.size;
      const cost = this.cache.cost(sequence.tokens, sequence.canShare);
      if (cost <= this.cache.numAvailable - promised && this.cache.hasSlot) return true;
      const victim = running.last;
      if (victim === undefined || victim.rank <= sequence.rank) return false;
      this.evict(victim);
    }
  }

  /** Blocks that running sequences need for the tokens they have. */
  private numPromised(): number {
    return this.holders()
      .map(
        ({ sequence, table }) => this.cache.blocksFor(sequence.tokens.length) - table.blocks.length,
      )
      .reduce((sum, blocks) => sum + Math.max(0, blocks), 0);
  }

  private secure({ sequence, count, draft }: Slice<Sequence>): boolean {
    for (;;) {
      const { table } = sequence;
      if (table === null) return false;
      if (this.cache.reserve(table, table.length + count + draft.length)) return true;
      const victim = this.running.last;
      if (victim !== undefined) this.evict(victim);
    }
  }

  /** Back to its tokens; it waits in its old place. */
  private evict(sequence: Sequence): void {
    this.running.delete(sequence);
    this.releaseBlocks(sequence);
    this.waiting.add(sequence);
    this.numPreempted++;
  }

  private releaseBlocks(sequence: Sequence): void {
    if (sequence.table !== null) this.cache.release(sequence.table, sequence.tokens);
    sequence.table = null;
  }

  /** Another sequence may have computed what this one has before it. */
  private catchUp(sequence: Sequence, table: BlockTable): void {
    if (sequence.numPending === 1 || !sequence.canShare) return;
    const before = table.length;
    this.cache.catchUp(table, sequence.tokens);
    sequence.countCached(table.length - before);
  }

  private holders(): { sequence: Sequence; table: BlockTable }[] {
    return [...this.running].flatMap((sequence) =>
      sequence.table === null ? [] : [{ sequence, table: sequence.table }],
    );
  }
}
