/** Words per generation; source code has a few thousand different ones. */
const GENERATION = 16_384;
/** Longer words are rare, and would let a text fill the memory. */
const MAX_WORD = 64;

/**
 * Token ids of recent words. Two generations: a word that is asked for again moves to the young one, and when that is
 * full the old one goes. Bounded, and without bookkeeping on a hit.
 */
export class WordCache {
  private young = new Map<string, readonly number[]>();
  private old = new Map<string, readonly number[]>();

  /** The ids of `word`, from the cache or from `encode`. */
  get(word: string, encode: (word: string) => readonly number[]): readonly number[] {
    const young = this.young.get(word);
    if (young !== undefined) return young;
    const ids = this.old.get(word) ?? encode(word);
    if (word.length <= MAX_WORD) this.add(word, ids);
    return ids;
  }

  private add(word: string, ids: readonly number[]): void {
    if (this.young.size >= GENERATION) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(word, ids);
  }
}
