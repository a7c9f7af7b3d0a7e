import type { DraftModel, Wanted } from '../speculate/draft_model';
import { type DraftLimits, withDrafts } from './draft';
import type { Slice } from './plan';
import type { Sequence } from './sequence';

/** What reading a text costs may be at most this part of what the rest of its answer may take. */
const MAX_READING = 1 / 4;

/**
 * Adds guesses of a draft model to the sequences of a step that only decodes and have no draft yet, where that pays.
 * `isOver`: somebody waits for the step.
 */
export async function addModelDrafts(
  slices: readonly Slice<Sequence>[],
  model: DraftModel,
  limits: DraftLimits,
  isOver: () => boolean,
): Promise<readonly Slice<Sequence>[]> {
  const { cost, cache, maxTokens, maxRows } = limits;
  if (slices.some(({ sequence }) => sequence.numPending !== 1)) return slices;
  const rows = slices.reduce((sum, { draft }) => sum + 1 + draft.length, 0);
  const guessable = slices.filter((slice) => slice.draft.length === 0 && slice.sequence.canGuess);
  if (guessable.length === 0) return slices;
  const share = Math.floor((Math.min(maxRows, maxTokens) - rows) / guessable.length);
  const stepMs = model.cost.estimate(guessable.length);
  const most = model.acceptance.best(
    share,
    (drafted) => cost.estimate(rows + drafted) + drafted * stepMs,
  );
  const wanted = guessable.map(({ sequence }): Wanted => {
    const readingMs = model.cost.isKnown ? model.cost.estimate(model.lag(sequence)) : 0;
    const isWorthIt = readingMs <= MAX_READING * sequence.room * cost.estimate(1);
    const isPossible = isWorthIt && model.hasRoom(sequence);
    return { answer: sequence, most: isPossible ? Math.min(most, sequence.room - 1) : 0 };
  });
  const guesses = await model.propose(
    wanted.filter((one) => one.most > 0),
    isOver,
  );
  const draftOf = ({ sequence, draft }: Slice<Sequence>) => guesses.get(sequence) ?? draft;
  return withDrafts(slices, cache, draftOf).map((slice) =>
    guesses.has(slice.sequence) ? { ...slice, guesser: model.acceptance } : slice,
  );
}
