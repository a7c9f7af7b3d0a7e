/** Longest match first: the more tokens agree, the likelier the next ones do. */
const LENGTHS = [4, 2] as const;

/**
 * Drafts from the text itself (prompt lookup decoding, Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding):
 * where the last few tokens have stood before, what followed them then is proposed again. Code repeats itself, and an
 * answer quotes its prompt.
 */
export class PromptLookup {
  /** By n: where the token after an n-gram stands, the latest one; keys are hashes. */
  private readonly followers = LENGTHS.map(() => new Map<number, number>());
  /** n-grams that end before this position are in `followers`. */
  private indexed = 0;

  /** Up to `most` tokens that may follow `tokens`, which is the text of the last call or goes on from there. */
  propose(tokens: readonly number[], most: number): readonly number[] {
    if (most <= 0) return [];
    this.index(tokens);
    for (const [i, length] of LENGTHS.entries()) {
      const at = this.followers[i]?.get(hash(tokens, tokens.length, length));
      // Another n-gram may have the same hash.
      if (at !== undefined && agree(tokens, at, length)) return tokens.slice(at, at + most);
    }
    return [];
  }

  /** All n-grams that something follows. */
  private index(tokens: readonly number[]): void {
    for (let end = this.indexed; end < tokens.length; end++) {
      for (const [i, length] of LENGTHS.entries()) {
        if (end >= length) this.followers[i]?.set(hash(tokens, end, length), end);
      }
    }
    this.indexed = tokens.length;
  }
}

/** Of the `length` tokens before `end`. */
function hash(tokens: readonly number[], end: number, length: number): number {
  let value = 0;
  for (let i = end - length; i < end; i++) value = Math.imul(value ^ (tokens[i] ?? -1), 0x01000193);
  return value;
}

/** Whether the tokens before `at` are the last `length` ones. */
function agree(tokens: readonly number[], at: number, length: number): boolean {
  for (let i = 1; i <= length; i++) if (tokens[at - i] !== tokens.at(-i)) return false;
  return true;
}
