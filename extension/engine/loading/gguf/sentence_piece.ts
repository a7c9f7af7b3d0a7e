import type { Vocabulary } from '../alphabet';
import type { Merges } from '../bpe';

/** SentencePiece's mark for a space. */
const SPACE = '▁';

/**
 * SentencePiece's byte-pair encoding as GGUF stores it: no list of merges but a score a piece. Two neighbours merge when
 * what they spell is a piece; the highest score goes first.
 */
export class ScoredMerges implements Merges {
  /** 0 for the highest score. */
  private readonly ranks: Int32Array;

  /** `pieces`: those that text may become. */
  constructor(
    private readonly pieces: Vocabulary,
    private readonly tokens: readonly (string | undefined)[],
    scores: readonly number[],
  ) {
    const order = [...new Set(scores)].sort((a, b) => b - a);
    const rankOf = new Map(order.map((score, rank) => [score, rank]));
    this.ranks = Int32Array.from(scores, (score) => rankOf.get(score) ?? 0);
  }

  find(left: number, right: number): number {
    return this.pieces.get(`${this.tokens[left]}${this.tokens[right]}`) ?? -1;
  }

  rank(handle: number): number {
    return this.ranks[handle] ?? 0;
  }

  result(handle: number): number {
    return handle;
  }
}

/**
 * Cuts text into words: spaces become marks, with one more before a text when `addPrefix`. Where no piece has a mark
 * behind another character, merges never cross the beginning of a run of marks, and words may be encoded, and cached, one
 * by one.
 */
export function sentencePieceSplitter(
  pieces: Iterable<string>,
  addPrefix: boolean,
): (text: string) => string[] {
  const crosses = [...pieces].some((piece) => /[^▁]▁/u.test(piece));
  return (text) => {
    if (text === '') return [];
    const marked = (addPrefix ? SPACE : '') + text.replaceAll(' ', SPACE);
    return crosses ? [marked] : (marked.match(/▁+[^▁]*|[^▁]+/gu) ?? []);
  };
}
