import type { Priority } from '../types';

/** The most urgent first; a rank is a place in this list. */
export const PRIORITIES: readonly Priority[] = ['completion', 'chat', 'port', 'background'];

export interface Urgent {
  readonly rank: number;
  /** Number of the request in order of arrival. */
  readonly arrival: number;
}

/** A set in order of urgency: by rank, within a rank first come, first served. */
export class UrgencyQueue<T extends Urgent> implements Iterable<T> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  /** The least urgent one. */
  get last(): T | undefined {
    return this.items.at(-1);
  }

  add(item: T): void {
    const index = this.items.findIndex((other) => isMoreUrgent(item, other));
    this.items.splice(index < 0 ? this.items.length : index, 0, item);
  }

  delete(item: T): boolean {
    const index = this.items.indexOf(item);
    if (index >= 0) this.items.splice(index, 1);
    return index >= 0;
  }

  has(item: T): boolean {
    return this.items.includes(item);
  }

  /** A copy, so that the set may change on the way. */
  toArray(): T[] {
    return [...this.items];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items[Symbol.iterator]();
  }
}

export function isMoreUrgent(a: Urgent, b: Urgent): boolean {
  return a.rank !== b.rank ? a.rank < b.rank : a.arrival < b.arrival;
}
