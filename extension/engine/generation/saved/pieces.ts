import type { BlockStore, StateStore } from '../../backend/backend';
import type { PagedCache } from '../../cache/paged';
import type { Segment } from '../../cache/saved/segment_file';
import { SEGMENT_TOKENS, segmentKeys, stateKey } from '../../cache/saved/segment_keys';

export interface PieceParts {
  readonly store: BlockStore;
  /** Of a model with recurrent state: no sequence goes on from keys and values alone. */
  readonly stateStore?: StateStore;
  /** Keeps states, where there are any, at multiples of SEGMENT_TOKENS. */
  readonly cache: PagedCache;
  /** Differs where the same text has other keys and values, or they lie otherwise. */
  readonly fingerprint: string;
}

/** What one file holds. */
export interface Piece {
  readonly segment: Segment;
  /** Null when the cache has it no more. */
  readonly read: () => Uint8Array | null;
}

/** The whole segments of a text. */
export function segmentsOf(fingerprint: string, tokens: readonly number[]): Segment[] {
  return segmentKeys(fingerprint, tokens).map((key, i) => ({
    key,
    tokens: tokens.slice(i * SEGMENT_TOKENS, (i + 1) * SEGMENT_TOKENS),
  }));
}

/** The file of the recurrent state at the end of a segment. */
export const stateAfter = ({ key, tokens }: Segment): Segment => ({ key: stateKey(key), tokens });

/**
 * The keys and values of a text in the cache, segment by segment, and the states that are kept at ends of segments, the
 * last first. Where there are states, keys and values beyond the last one are of no use.
 */
export function piecesOf(
  { store, stateStore, cache, fingerprint }: PieceParts,
  tokens: readonly number[],
): { readonly blocks: readonly Piece[]; readonly states: readonly Piece[] } {
  const blocks: Piece[] = [];
  const states: Piece[] = [];
  let numWanted = 0;
  const ends = new Set(stateStore === undefined ? [] : cache.stateLengths(tokens));
  for (const [i, segment] of segmentsOf(fingerprint, tokens).entries()) {
    const start = i * SEGMENT_TOKENS;
    const end = start + SEGMENT_TOKENS;
    blocks.push({
      segment,
      read: () => {
        const found = cache.blocksOf(tokens, start, end);
        return found === null ? null : store.read(Int32Array.from(found));
      },
    });
    if (stateStore === undefined || !ends.has(end)) continue;
    numWanted = blocks.length;
    states.unshift({
      segment: stateAfter(segment),
      read: () => {
        const slot = cache.stateOf(tokens, end);
        return slot === null ? null : stateStore.read(slot);
      },
    });
  }
  return { blocks: stateStore === undefined ? blocks : blocks.slice(0, numWanted), states };
}
