import type { Alphabet, Vocabulary } from './alphabet';

/** SentencePiece's penalty on a character that no piece covers, below the rarest piece. */
const UNKNOWN_PENALTY = 10;

/**
 * SentencePiece's unigram model (Kudo 2018, https://arxiv.org/abs/1804.10959): of all ways to cut a word into pieces, the
 * one whose log probabilities add up highest, by dynamic programming. Characters without a piece become what the alphabet
 * makes of them.
 */
export function unigramEncoder(
  vocabulary: ReadonlyMap<string, number>,
  scores: readonly number[],
  alphabet: Alphabet,
): (word: string) => readonly number[] {
  const unknownScore = scores.reduce((low, score) => Math.min(low, score), 0) - UNKNOWN_PENALTY;
  const longest = longestByFirst(vocabulary.keys());
  return (word) =>
    spell(word, bestPieces(word, vocabulary, scores, longest, unknownScore), alphabet);
}

interface BestPieces {
  /** Where the last piece of the best cut of word[0, end) begins, by end. */
  readonly start: Int32Array;
  /** That piece's id, -1 for an unknown character. */
  readonly piece: Int32Array;
}

function bestPieces(
  word: string,
  vocabulary: Vocabulary,
  scores: readonly number[],
  longest: ReadonlyMap<string, number>,
  unknownScore: number,
): BestPieces {
  const total = new Float64Array(word.length + 1).fill(-Infinity);
  const start = new Int32Array(word.length + 1);
  const piece = new Int32Array(word.length + 1);
  total[0] = 0;
  const offer = (from: number, to: number, id: number, score: number) => {
    const sum = (total[from] ?? 0) + score;
    if (sum <= (total[to] ?? 0)) return;
    total[to] = sum;
    start[to] = from;
    piece[to] = id;
  };
  for (let from = 0, next: number; from < word.length; from = next) {
    next = from + ((word.codePointAt(from) ?? 0) > 0xffff ? 2 : 1);
    const first = word.slice(from, next);
    const most = Math.min(word.length, from + (longest.get(first) ?? 0));
    let isCovered = false;
    for (let to = next; to <= most; to++) {
      const id = vocabulary.get(word.slice(from, to));
      if (id === undefined) continue;
      offer(from, to, id, scores[id] ?? unknownScore);
      isCovered ||= to === next;
    }
    if (!isCovered) offer(from, next, -1, unknownScore);
  }
  return { start, piece };
}

/** Ids of the best pieces; runs of unknown characters become the alphabet's symbols for them. */
function spell(word: string, { start, piece }: BestPieces, alphabet: Alphabet): number[] {
  const ends: number[] = [];
  for (let end = word.length; end > 0; end = start[end] ?? 0) ends.push(end);
  const ids: number[] = [];
  let unknownFrom = -1;
  const flush = (to: number) => {
    // A loop, because a run can have more symbols than a call takes arguments.
    if (unknownFrom !== -1)
      for (const id of alphabet.symbols(word.slice(unknownFrom, to))) ids.push(id);
    unknownFrom = -1;
  };
  for (const end of ends.reverse()) {
    const from = start[end] ?? 0;
    if (piece[end] === -1) {
      if (unknownFrom === -1) unknownFrom = from;
      continue;
    }
    flush(from);
    ids.push(piece[end] ?? 0);
  }
  flush(word.length);
  return ids;
}

/** Length of the longest piece that begins with each character. */
function longestByFirst(pieces: Iterable<string>): ReadonlyMap<string, number> {
  const longest = new Map<string, number>();
  for (const piece of pieces) {
    const first = String.fromCodePoint(piece.codePointAt(0) ?? 0);
    longest.set(first, Math.max(longest.get(first) ?? 0, piece.length));
  }
  return longest;
}
