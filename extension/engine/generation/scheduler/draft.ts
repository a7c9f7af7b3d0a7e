import type { PagedCache } from '../../cache/paged';
import { SLICE_MS } from './limits';
import type { Slice } from './plan';
import type { Sequence } from './sequence';
import type { StepCost } from './step_cost';

export interface DraftLimits {
  readonly cost: StepCost;
  readonly cache: PagedCache;
  readonly maxTokens: number;
  readonly maxRows: number;
  /** Rows of logits that a step can have at all. */
  readonly maxLogitRows: number;
}

/**
 * Adds tokens that are given in advance, as when a prompt is scored, in steps about as long as a slice of prefill, and
 * drafted tokens to the sequences of a step that only decodes, where that pays. The step checks them: the tokens
 * that come out are the same as without drafts. Rows and blocks that are free are used, none are taken from others.
 */
export function addDrafts(
  slices: readonly Slice<Sequence>[],
  limits: DraftLimits,
): Slice<Sequence>[] {
  const { cost, cache, maxTokens, maxRows, maxLogitRows } = limits;
  if (slices.some(({ sequence }) => sequence.numPending !== 1)) return [...slices];
  const rows = slices.length;
  const shareOf = (total: number) => Math.floor((Math.min(total, maxTokens) - rows) / rows);
  const share = shareOf(maxRows);
  const forcedShare = Math.min(
    shareOf(maxLogitRows),
    Math.max(share, shareOf(cost.tokensWithin(SLICE_MS))),
  );
  return withDrafts(slices, cache, ({ sequence }) => {
    const forced = sequence.forcedNext(forcedShare);
    // What a wrong guess has done to a recurrent state could not be taken back.
    const canGuess = forced.length === 0 && !cache.isRecurrent;
    return canGuess ? guessed(sequence, share, rows, cost) : forced;
  });
}

/** Gives slices their drafts as long as free blocks are left for them; the others keep none. */
export function withDrafts(
  slices: readonly Slice<Sequence>[],
  cache: PagedCache,
  draftOf: (slice: Slice<Sequence>) => readonly number[],
): Slice<Sequence>[] {
  let blocks = cache.numAvailable - slices.length;
  return slices.map((slice) => {
    const { sequence } = slice;
    const draft = draftOf(slice);
    const wanted = cache.blocksFor(sequence.tokens.length + draft.length);
    const added = Math.max(0, wanted - (sequence.table?.blocks.length ?? 0));
    if (draft.length === 0 || added > blocks) return { ...slice, draft: [] };
    blocks -= added;
    return { ...slice, draft };
  });
}

/** As many as pay. */
function guessed(
  sequence: Sequence,
  share: number,
  rows: number,
  cost: StepCost,
): readonly number[] {
  const proposed = sequence.propose(share);
  const most = sequence.acceptance.best(proposed.length, (drafted) =>
    cost.estimate(rows + drafted),
  );
  return proposed.slice(0, most);
}
