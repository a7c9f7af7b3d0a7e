import { EngineError } from '../errors';
import type { PrefixNode } from './prefix';

export interface StateOptions {
  /** Of the executable; at least as many as sequences run at once. */
  readonly numSlots: number;
  /** `Executable.copyState`. */
  readonly copy: (from: number, to: number) => void;
  /** Of texts that are kept beyond the process, the state is kept at a multiple of so many tokens; default: not. */
  readonly savedEvery?: number;
}

/**
 * Recurrent states, which cannot be cut back to a prefix. Each running sequence holds a slot; the others are free or keep
 * snapshots, the state after all of a node's text, from which another sequence can go on. Snapshots give way to
 * sequences, and to newer ones.
 */
export class StateSlots {
  private readonly free: number[];
  /** Least recently used first. */
  private readonly snapshots = new Map<PrefixNode, number>();

  constructor(private readonly options: StateOptions) {
    this.free = Array.from({ length: options.numSlots }, (_, i) => options.numSlots - 1 - i);
  }

  /** Slots that no sequence holds. */
  get numAvailable(): number {
    return this.free.length + this.snapshots.size;
  }

  has(node: PrefixNode): boolean {
    return this.snapshots.has(node);
  }

  /** The slot of a node's snapshot; null when there is none. */
  find(node: PrefixNode): number | null {
    return this.snapshots.get(node) ?? null;
  }

  /** A slot for a sequence that goes on after `node`, or begins. */
  begin(node: PrefixNode | null): number {
    const slot = this.free.pop() ?? this.giveUpOldest(node);
    if (slot === null) {
      // Nothing is left but the snapshot itself.
      if (node !== null && this.has(node)) return this.take(node);
      throw new EngineError('internal', '[states] every slot is held by a sequence');
    }
    if (node !== null) this.resume(node, slot);
    return slot;
  }

  /** The snapshot's own slot, for a sequence that goes on from there. */
  take(node: PrefixNode): number {
    const slot = this.slotOf(node);
    this.snapshots.delete(node);
    return slot;
  }

  /** Makes the state of a sequence that of a snapshot. */
  resume(node: PrefixNode, slot: number): void {
    const source = this.take(node);
    this.snapshots.set(node, source);
    this.options.copy(source, slot);
  }

  /** Keeps the state of a running sequence, which stands at the end of `node`, if there is room. */
  save(node: PrefixNode, slot: number): void {
    this.put(node, (room) => this.options.copy(slot, room));
  }

  /** Keeps a state that `fill` puts into a slot, if there is room. */
  put(node: PrefixNode, fill: (slot: number) => void): boolean {
    if (this.has(node)) return true;
    const room = this.free.pop() ?? this.giveUpOldest(null);
    if (room === null) return false;
    try {
      fill(room);
    } catch (error) {
      this.free.push(room);
      throw error;
    }
    this.snapshots.set(node, room);
    return true;
  }

  /** A sequence ends at the end of `node`, which keeps its state; null: nobody can go on from there. */
  end(slot: number, node: PrefixNode | null): void {
    if (node === null || this.has(node)) this.free.push(slot);
    else this.snapshots.set(node, slot);
  }

  /** The node is gone. */
  drop(node: PrefixNode): void {
    const slot = this.snapshots.get(node);
    if (slot === undefined) return;
    this.snapshots.delete(node);
    this.free.push(slot);
  }

  /** Throws 'internal' unless every slot is free, a snapshot of a node of the tree, or held by one sequence. */
  checkIntegrity(held: readonly number[], nodes: ReadonlySet<PrefixNode>): void {
    const { numSlots } = this.options;
    const all = [...this.free, ...this.snapshots.values(), ...held];
    if (all.length !== numSlots || new Set(all).size !== numSlots) {
      const counts = `${this.free.length} free, ${this.snapshots.size} kept, ${held.length} held`;
      throw new EngineError('internal', `[states] of ${numSlots} slots ${counts}`);
    }
    for (const node of this.snapshots.keys()) {
      if (nodes.has(node)) continue;
      throw new EngineError('internal', `[states] a snapshot of block ${node.block} has no node`);
    }
  }

  private giveUpOldest(kept: PrefixNode | null): number | null {
    for (const node of this.snapshots.keys()) if (node !== kept) return this.take(node);
    return null;
  }

  private slotOf(node: PrefixNode): number {
    const slot = this.snapshots.get(node);
    if (slot !== undefined) return slot;
    throw new EngineError('internal', `[states] block ${node.block} has no snapshot`);
  }
}
