import { EngineError } from '../../errors';
import type { Automaton, State } from './automaton';
import type { Constraint } from './constraint';
import type { VocabularyTrie } from './vocabulary_trie';

export interface MatcherParts {
  readonly automaton: Automaton;
  readonly trie: VocabularyTrie;
  readonly eosIds: readonly number[];
  readonly tokenBytes: (id: number) => Uint8Array;
}

/** Follows one answer through the automaton of its grammar. */
export class Matcher implements Constraint {
  private state: State;

  constructor(private readonly parts: MatcherParts) {
    this.state = parts.automaton.start;
  }

  get isComplete(): boolean {
    return this.state.isFinal;
  }

  mask(logits: Float32Array): void {
    const { automaton, trie, eosIds } = this.parts;
    const bits = (this.state.tokens ??= trie.readable(automaton, this.state));
    const ends = this.state.isAccepting ? eosIds : [];
    const endLogits = ends.map((id) => logits[id] ?? -Infinity);
    let any = ends.length > 0;
    for (const [word, set] of bits.entries()) {
      if (set === ALL_BITS) any = true;
      else if (set === 0) logits.fill(-Infinity, 32 * word, 32 * word + 32);
      else {
        any = true;
        for (let bit = 0; bit < 32; bit++) {
          if (((set >>> bit) & 1) === 0) logits[32 * word + bit] = -Infinity;
        }
      }
    }
    logits.fill(-Infinity, 32 * bits.length);
    for (const [i, id] of ends.entries()) logits[id] = endLogits[i] ?? -Infinity;
    if (any) return;
    throw new EngineError(
      'bad_request',
      'grammar: no token of this model can come next; the grammar has no text that goes on from here',
    );
  }

  allowedAfter(ids: readonly number[]): Uint32Array | null {
    const { automaton, trie, eosIds } = this.parts;
    let state: State | null = this.state;
    for (const id of ids) state = state && this.after(state, id);
    if (state === null) return null;
    const bits = (state.tokens ??= trie.readable(automaton, state));
    const ends = state.isAccepting ? eosIds : [];
    const words = ends.reduce((most, id) => Math.max(most, (id >> 5) + 1), bits.length);
    const allowed = new Uint32Array(words);
    allowed.set(bits);
    for (const id of ends) allowed[id >> 5] = (allowed[id >> 5] as number) | (1 << (id & 31));
    return allowed.some((word) => word !== 0) ? allowed : null;
  }

  accept(id: number): void {
    const state = this.after(this.state, id);
    if (state === null) {
      throw new EngineError('internal', `[constrain] token ${id} is not allowed by its own mask`);
    }
    this.state = state;
  }

  /** The state that a token leads to; null when it cannot come. */
  private after(state: State, id: number): State | null {
    const { automaton, tokenBytes } = this.parts;
    let next: State | null = state;
    for (const byte of tokenBytes(id)) next = next && automaton.step(next, byte);
    return next;
  }
}

const ALL_BITS = 0xffffffff;
