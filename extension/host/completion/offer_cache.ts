import type { EmptyReason } from '../../protocol/completion';
import { afterTyping, typingBetween, type Offer } from './offer';
import type { Snapshot } from './snapshot';

const CAPACITY = 100;

/** What a place was answered with. */
export type Answer =
  | { readonly kind: 'offer'; readonly offer: Offer }
  | { readonly kind: 'empty'; readonly reason: EmptyReason };

interface Entry {
  readonly id: number;
  readonly snapshot: Snapshot;
  readonly answer: Answer;
}

/** An answer from the cache, with the id of the entry that it came from. */
export interface Hit {
  readonly id: number;
  readonly answer: Answer;
}

/**
 * Earlier answers, found again when the user types into a suggestion or deletes back into it. The document's text on
 * both sides is the key, so that no other edit can bring up an old suggestion. The least recently used entry goes first.
 */
export class OfferCache {
  /** Most recently used last. */
  private entries: Entry[] = [];
  private nextId = 1;

  get size(): number {
    return this.entries.length;
  }

  add(snapshot: Snapshot, answer: Answer): number {
    const id = this.nextId++;
    this.entries = this.entries.filter(({ snapshot: other }) => !samePlace(other, snapshot));
    if (this.entries.length >= CAPACITY) this.entries.shift();
    this.entries.push({ id, snapshot, answer });
    return id;
  }

  find(snapshot: Snapshot): Hit | null {
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const entry = this.entries[i];
      const answer = entry && answerAt(entry, snapshot);
      if (!answer) continue;
      this.entries.splice(i, 1);
      this.entries.push(entry);
      return { id: entry.id, answer };
    }
    return null;
  }

  /** Forgets an entry, because it was accepted: it must not come back when the user undoes or deletes. */
  remove(id: number): void {
    this.entries = this.entries.filter((entry) => entry.id !== id);
  }

  clear(): void {
    this.entries = [];
  }
}

function answerAt({ snapshot, answer }: Entry, at: Snapshot): Answer | null {
  if (answer.kind === 'empty') return samePlace(snapshot, at) ? answer : null;
  const typing = typingBetween(snapshot, at);
  const offer = typing && afterTyping(answer.offer, typing);
  return offer && { kind: 'offer', offer };
}

function samePlace(a: Snapshot, b: Snapshot): boolean {
  return (
    a.uri === b.uri &&
    a.languageId === b.languageId &&
    a.prefixLine === b.prefixLine &&
    a.prefix === b.prefix &&
    a.suffix === b.suffix
  );
}
