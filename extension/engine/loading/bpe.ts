import type { Alphabet, Vocabulary } from './alphabet';
import { MinHeap } from './min_heap';

/** Heap keys are rank * POSITIONS + position: lowest rank first, then leftmost. Exact while ranks are below 2^22. */
const POSITIONS = 2 ** 31;
const DEAD = -1;

/** Which pairs of tokens merge, in which order, and to what. */
export interface Merges {
  /** A handle for `rank` and `result`, or -1 when the pair does not merge. */
  find(left: number, right: number): number;
  /** Lower ranks merge first. */
  rank(handle: number): number;
  result(handle: number): number;
}

/**
 * Encodes a word by merging. With `whole`, a word that is an ordinary token of it is not merged; `controlIds` are the
 * tokens that text never becomes.
 */
export function bpeEncoder(
  merges: Merges,
  alphabet: Alphabet,
  whole: Vocabulary | null,
  controlIds: ReadonlySet<number>,
): (word: string) => readonly number[] {
  return (word) => {
    const id = whole?.get(alphabet.spell(word));
    if (id !== undefined && !controlIds.has(id)) return [id];
    return mergeSymbols(alphabet.symbols(word), merges);
  };
}

/**
 * Byte-pair encoding of one word: merges the adjacent pair of lowest rank until none is left (Sennrich et al.,
 * https://arxiv.org/abs/1508.07909). A heap over a linked list makes it O(n log n), so that a megabyte of one character
 * is no denial of service. Takes the word's symbols as ids and returns the merged ids.
 */
export function mergeSymbols(symbols: readonly number[], table: Merges): readonly number[] {
  const n = symbols.length;
  if (n < 2) return symbols;
  const ids = Int32Array.from(symbols);
  const next = new Int32Array(n);
  const previous = new Int32Array(n);
  const heap = new MinHeap();

  const pushPair = (left: number) => {
    const right = next[left] as number;
    if (right === n) return;
    const merge = table.find(ids[left] as number, ids[right] as number);
    if (merge !== -1) heap.push(table.rank(merge) * POSITIONS + left);
  };

  for (let i = 0; i < n; i++) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (let i = 0; i < n; i++) pushPair(i);
  while (heap.size > 0) {
    const key = heap.pop();
    const rank = Math.floor(key / POSITIONS);
    const left = key - rank * POSITIONS;
    const right = next[left] as number;
    if (ids[left] === DEAD || right === n) continue;
    const merge = table.find(ids[left] as number, ids[right] as number);
    if (merge === -1 || table.rank(merge) !== rank) continue; // the pair has changed since it was pushed
    ids[left] = table.result(merge);
    ids[right] = DEAD;
    const after = next[right] as number;
    next[left] = after;
    if (after < n) previous[after] = left;
    pushPair(left);
    const before = previous[left] as number;
    if (before !== -1) pushPair(before);
  }
  return [...ids].filter((id) => id !== DEAD);
}
