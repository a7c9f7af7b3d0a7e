import { EngineError } from '../errors';
import { emptyTable, type AcquireOptions, type BlockTable } from './block_table';
import { BlockPool, blocksFor } from './blocks';
import { assertIntegrity } from './integrity';
import { PrefixTree, type BlockHash, type PrefixNode } from './prefix';
import { StateSlots, type StateOptions } from './states';
import { floorTo, Stops } from './stops';

export interface PagedCacheOptions {
  readonly numBlocks: number;
  /** Tokens in a block: the backend's kvBlockSize. */
  readonly blockSize: number;
  /** Most tokens of one sequence. */
  readonly contextLength: number;
  /** `Executable.copyBlocks`, where there is one; without it a half-shared block is computed anew. */
  readonly copyBlocks?: ((pairs: Int32Array) => void) | undefined;
  readonly hash?: BlockHash;
  /** For models with recurrent state. */
  readonly states?: StateOptions;
}

/**
 * The KV pool in blocks that sequences share by content (after PagedAttention, Kwon et al. 2023). A sequence holds a
 * path of the prefix tree and, behind it, blocks of its own; what it has computed joins the tree block by block, and
 * stays there idle when the sequence ends until the space is needed.
 */
export class PagedCache {
  /** Most tokens of one sequence: it fits the pool when it is alone. */
  readonly contextLength: number;
  /** Idle blocks whose content was given up for new ones. */
  numEvictions = 0;
  private readonly pool: BlockPool;
  private readonly tree: PrefixTree;
  private readonly states: StateSlots | null;

  constructor(private readonly options: PagedCacheOptions) {
    this.states = options.states ? new StateSlots(options.states) : null;
    this.pool = new BlockPool(options.numBlocks);
    this.tree = new PrefixTree(options.blockSize, options.hash);
    this.contextLength = Math.min(options.contextLength, options.numBlocks * options.blockSize);
  }

  get numBlocks(): number {
    return this.pool.total;
  }

  get numFree(): number {
    return this.pool.numFree;
  }

  get numIdle(): number {
    return this.tree.numIdle;
  }

  /** Blocks that can be had without taking any from a sequence. */
  get numAvailable(): number {
    return this.pool.numFree + this.tree.numIdle;
  }

  /** Whether sequences have a state beside their blocks: what was run cannot be taken back then. */
  get isRecurrent(): boolean {
    return this.states !== null;
  }

  /** Whether one more sequence can begin, as far as states go. */
  get hasSlot(): boolean {
    return this.states === null || this.states.numAvailable > 0;
  }

  blocksFor(tokens: number): number {
    return blocksFor(tokens, this.options.blockSize);
  }

  /** How much `numAvailable` falls until a new sequence has a block for each of its tokens; see `acquire`. */
  cost(tokens: readonly number[], canShare = true): number {
    if (!canShare) return this.blocksFor(tokens.length);
    const { path } = this.reusable(tokens);
    const idle = path.filter((node) => this.pool.refCount(node.block) === 0).length;
    return this.blocksFor(tokens.length) - path.length + idle;
  }

  /**
   * Starts a sequence on the longest cached beginning of its tokens. At least the last token is left out, since its
   * logits are wanted. Changes the pool by no more than `cost`. Call between steps, as it may copy a block.
   */
  acquire(
    tokens: readonly number[],
    { canShare = true, isSaved = false }: AcquireOptions = {},
  ): BlockTable {
    const table = emptyTable();
    const { states } = this;
    if (states === null) {
      if (!canShare) return table;
      for (const node of this.tree.match(tokens, tokens.length - 1)) this.follow(table, node);
      this.sharePartial(table, tokens);
      return table;
    }
    const { path, tail } = canShare ? this.reusable(tokens) : { path: [], tail: null };
    for (const node of path) this.follow(table, node);
    if (tail !== null) {
      table.slot = states.take(tail);
      this.takeOver(table, tail);
    } else table.slot = states.begin(table.path.at(-1) ?? null);
    table.stops = this.stopsFor(table, tokens, isSaved);
    return table;
  }

  /** Goes on with blocks that another sequence has computed meanwhile, in place of those begun here. */
  catchUp(table: BlockTable, tokens: readonly number[]): void {
    if (!this.isAllShared(table)) return;
    const found = this.withState(this.tree.match(tokens, tokens.length - 1, table.path));
    if (found.length === 0) return;
    for (const block of table.blocks.splice(table.path.length)) {
      if (this.pool.release(block)) this.pool.giveBack(block);
    }
    table.length = table.path.length * this.options.blockSize;
    for (const node of found) this.follow(table, node);
    if (table.slot !== null) this.states?.resume(this.endOf(table), table.slot);
  }

  /** A step that did not end has spoilt the sequence's state. */
  spoil(table: BlockTable): void {
    if (table.slot !== null) this.states?.end(table.slot, null);
    table.slot = null;
  }

  /** Blocks for positions [0, length), or false when the pool has no more; the table keeps what it got. */
  reserve(table: BlockTable, length: number): boolean {
    while (table.blocks.length < this.blocksFor(length)) {
      const block = this.allocate();
      if (block === null) return false;
      table.blocks.push(block);
    }
    return true;
  }

  /** Positions up to `length` of the text `tokens` have been computed; full blocks join the tree. */
  commit(table: BlockTable, tokens: readonly number[], length: number): void {
    const { blockSize } = this.options;
    table.length = length;
    while ((table.path.length + 1) * blockSize <= length) {
      const index = table.path.length;
      const parent = this.endOf(table);
      const content = tokens.slice(index * blockSize, (index + 1) * blockSize);
      const own = table.blocks[index] ?? -1;
      const known = this.tree.find(parent, content);
      const node = known ?? this.tree.insert(parent, content, own);
      if (node === null) return; // such a text is not shared, nor is its state
      if (known !== null) {
        this.retain(known);
        if (this.pool.release(own)) this.pool.giveBack(own);
        table.blocks[index] = known.block;
      }
      table.path.push(node);
    }
    if (table.slot === null || !table.stops.has(length) || !this.isAllShared(table)) return;
    const before = table.stops.before(length);
    const node = before === null ? undefined : table.path[before / blockSize - 1];
    if (node !== undefined) this.states?.drop(node);
    this.states?.save(this.endOf(table), table.slot);
  }

  /** Ends a sequence. Its blocks stay in the tree, idle where no other sequence holds them. */
  release(table: BlockTable, tokens: readonly number[]): void {
    const { blocks, path } = table;
    const tail = this.isAllShared(table) ? this.insertTail(table, tokens) : null;
    const numKept = path.length + (tail === null ? 0 : 1);
    if (table.slot !== null) {
      const isFull = path.length > 0 && path.length * this.options.blockSize === table.length;
      this.states?.end(table.slot, tail ?? (isFull ? this.endOf(table) : null));
      table.slot = null;
    }
    for (const [index, block] of [...blocks.entries()].reverse()) {
      if (!this.pool.release(block)) continue;
      const node = path[index];
      if (node !== undefined) this.tree.rest(node);
      else if (index >= numKept) this.pool.giveBack(block);
    }
    blocks.length = 0;
    path.length = 0;
    table.length = 0;
  }

  /** Tokens at the beginning of a text that are cached in whole blocks. */
  cachedLength(tokens: readonly number[]): number {
    return this.tree.match(tokens, tokens.length).length * this.options.blockSize;
  }

  /** After how many tokens of a text the state is kept, in whole blocks, ascending. */
  stateLengths(tokens: readonly number[]): number[] {
    const path = [...this.tree.match(tokens, tokens.length).entries()];
    const kept = path.filter(([, node]) => this.states?.has(node) === true);
    return kept.map(([i]) => (i + 1) * this.options.blockSize);
  }

  /** The blocks of positions [from, to) of a text, both whole numbers of blocks; null unless all are cached. */
  blocksOf(tokens: readonly number[], from: number, to: number): number[] | null {
    const { blockSize } = this.options;
    const path = this.tree.match(tokens, to);
    if (path.length * blockSize < to) return null;
    return path.slice(from / blockSize).map((node) => node.block);
  }

  /** The slot with the state after `length` tokens of a text, a whole number of blocks; null when it is not kept. */
  stateOf(tokens: readonly number[], length: number): number | null {
    const node = this.nodeAt(tokens, length);
    return node === null ? null : (this.states?.find(node) ?? null);
  }

  /**
   * Caches positions [from, to) of a text, both whole numbers of blocks, as if a sequence had computed them: `fill` is
   * given the blocks that are not cached yet, and which of the text they are. False when the pool is full, or what comes
   * before is not cached. Call between steps.
   */
  adopt(
    tokens: readonly number[],
    from: number,
    to: number,
    fill: (blocks: readonly number[], first: number) => void,
  ): boolean {
    const { blockSize } = this.options;
    const table = emptyTable();
    for (const node of this.tree.match(tokens, to)) this.follow(table, node);
    const first = table.path.length;
    try {
      if (first * blockSize < from || !this.reserve(table, to)) return false;
      if (first * blockSize < to) fill(table.blocks.slice(first), first);
      this.commit(table, tokens, to);
      return true;
    } finally {
      this.release(table, tokens);
    }
  }

  /**
   * Keeps the state after `length` tokens of a text, a whole number of blocks, which `fill` puts into a slot. False when
   * there is no slot for it, or the blocks are not cached. Call between steps.
   */
  adoptState(tokens: readonly number[], length: number, fill: (slot: number) => void): boolean {
    const node = this.nodeAt(tokens, length);
    return node !== null && this.states?.put(node, fill) === true;
  }

  /** Throws 'internal' unless every block is free, idle, or held exactly as often as `tables` say. */
  checkIntegrity(tables: readonly BlockTable[]): void {
    assertIntegrity(this.pool, this.tree, tables, this.options.blockSize);
    const held = tables.flatMap(({ slot }) => (slot === null ? [] : [slot]));
    this.states?.checkIntegrity(held, new Set(this.tree.nodes()));
  }

  /** What of the cache a text can begin with: full blocks and, for a recurrent model, a partial one with its state. */
  private reusable(tokens: readonly number[]): {
    readonly path: readonly PrefixNode[];
    readonly tail: PrefixNode | null;
  } {
    const path = this.tree.match(tokens, tokens.length - 1);
    const { states } = this;
    if (states === null) return { path, tail: null };
    const { blockSize } = this.options;
    const start = path.length * blockSize;
    const rest = tokens.slice(start, Math.min(tokens.length - 1, start + blockSize));
    const closest = this.tree.closest(path.at(-1) ?? this.tree.root, rest);
    const isWhole = closest !== null && closest.shared === closest.node.tokens.length;
    if (isWhole && closest.shared < blockSize && states.has(closest.node))
      return { path, tail: closest.node };
    return { path: this.withState(path), tail: null };
  }

  /** The path up to the last node that a sequence can go on from. */
  private withState(path: readonly PrefixNode[]): readonly PrefixNode[] {
    const { states } = this;
    if (states === null) return path;
    return path.slice(0, path.findLastIndex((node) => states.has(node)) + 1);
  }

  /**
   * Where others may want to go on: at the last block that the text fills, where it leaves a known text whose state
   * nobody has kept, and where the last part ends that is kept beyond the process.
   */
  private stopsFor(table: BlockTable, tokens: readonly number[], isSaved: boolean): Stops {
    const { blockSize, states } = this.options;
    const following = this.tree.match(tokens, tokens.length - 1, table.path);
    const known = (table.path.length + following.length) * blockSize;
    const last = floorTo(tokens.length - 1, blockSize);
    const every = isSaved ? (states?.savedEvery ?? null) : null;
    const within = [known, last, ...(every === null ? [] : [floorTo(last, every)])];
    return new Stops(
      within.filter((length) => length > table.length),
      tokens.length,
      every,
    );
  }

  /** The node that ends after `length` tokens of a text, a whole number of blocks; null when it is not cached. */
  private nodeAt(tokens: readonly number[], length: number): PrefixNode | null {
    const path = this.tree.match(tokens, length);
    return path.length * this.options.blockSize === length ? (path.at(-1) ?? null) : null;
  }

  private follow(table: BlockTable, node: PrefixNode): void {
    this.retain(node);
    table.path.push(node);
    table.blocks.push(node.block);
    table.length += this.options.blockSize;
  }

  /** The block in which a text leaves the cached ones: taken over when it ends there, else copied. */
  private sharePartial(table: BlockTable, tokens: readonly number[]): void {
    const { blockSize, copyBlocks } = this.options;
    const end = Math.min(tokens.length - 1, table.length + blockSize);
    const closest = this.tree.closest(this.endOf(table), tokens.slice(table.length, end));
    if (closest === null) return;
    const { node, shared } = closest;
    if (shared === node.tokens.length && shared < blockSize) {
      this.takeOver(table, node);
      return;
    }
    if (copyBlocks === undefined) return;
    const copy = this.copy(node, copyBlocks);
    if (copy === null) return;
    table.blocks.push(copy);
    table.length += shared;
  }

  /** A partial block becomes the sequence's own. */
  private takeOver(table: BlockTable, node: PrefixNode): void {
    this.tree.remove(node);
    this.pool.retain(node.block);
    table.blocks.push(node.block);
    table.length += node.tokens.length;
  }

  private copy(node: PrefixNode, copyBlocks: (pairs: Int32Array) => void): number | null {
    // Held, so that the copy does not take the place of its source.
    this.retain(node);
    const block = this.allocate();
    if (block !== null) copyBlocks(Int32Array.of(node.block, block));
    if (this.pool.release(node.block)) this.tree.rest(node);
    return block;
  }

  /** Leaves the last, partial block in the tree; null when there is none or the tree has as much already. */
  private insertTail(table: BlockTable, tokens: readonly number[]): PrefixNode | null {
    const start = table.path.length * this.options.blockSize;
    const block = table.blocks[table.path.length];
    if (block === undefined || table.length === start) return null;
    const parent = this.endOf(table);
    const tail = tokens.slice(start, table.length);
    const closest = this.tree.closest(parent, tail);
    if (closest?.shared === tail.length) return null;
    if (closest !== null && closest.shared === closest.node.tokens.length) this.drop(closest.node);
    const node = this.tree.insert(parent, tail, block);
    if (node !== null) this.tree.rest(node);
    return node;
  }

  /** Whether all full blocks are in the tree; not so after a collision of hashes. */
  private isAllShared(table: BlockTable): boolean {
    return table.path.length === Math.floor(table.length / this.options.blockSize);
  }

  private endOf(table: BlockTable): PrefixNode {
    return table.path.at(-1) ?? this.tree.root;
  }

  private retain(node: PrefixNode): void {
    if (this.pool.refCount(node.block) === 0) this.tree.wake(node);
    this.pool.retain(node.block);
  }

  private allocate(): number | null {
    const block = this.pool.allocate();
    if (block !== null) return block;
    const oldest = this.tree.oldest();
    if (oldest === null) return null;
    if (oldest.children.size > 0) {
      throw new EngineError('internal', '[prefix tree] the oldest idle block has children');
    }
    this.drop(oldest);
    this.numEvictions++;
    return this.pool.allocate();
  }

  private drop(node: PrefixNode): void {
    this.states?.drop(node);
    this.tree.remove(node);
    this.pool.giveBack(node.block);
  }
}
