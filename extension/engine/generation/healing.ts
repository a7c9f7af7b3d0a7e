import type { VocabularyIndex } from './vocabulary_index';

/**
 * Token healing: the prompt was cut back to a stable boundary, and the first tokens generated must spell the bytes
 * that were cut, so that a word that the user has half typed is tokenized as the model would have seen it.
 */
export class Healing {
  private left: Uint8Array;

  constructor(
    private readonly vocabulary: VocabularyIndex,
    bytes: Uint8Array,
  ) {
    this.left = bytes;
  }

  get active(): boolean {
    return this.left.length > 0;
  }

  /** Whether bytes are still required once so many have come. */
  isActiveAfter(bytes: number): boolean {
    return this.left.length > bytes;
  }

  /** The ids that may come next. */
  allowed(): number[] {
    return this.vocabulary.compatible(this.left);
  }

  /** Takes a drawn token; returns its bytes beyond the required ones. */
  accept(token: Uint8Array): Uint8Array {
    const used = Math.min(token.length, this.left.length);
    this.left = this.left.subarray(used);
    return token.subarray(used);
  }
}
