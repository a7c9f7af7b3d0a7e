import type { Acceptance } from '../speculate/acceptance';
import { MAX_DECODE_SLOWDOWN, MIN_CHUNK, PATIENCE_MS, RELAXED_MS, SLICE_MS } from './limits';
import type { StepCost } from './step_cost';
import { isMoreUrgent, PRIORITIES, type Urgent } from './urgency';

/** What the plan of a step needs to know of a sequence. */
export interface Plannable extends Urgent {
  /** Tokens that have no keys and values yet; 1 while it decodes. */
  readonly numPending: number;
  /** Most of them that one step may run. */
  readonly reach: number;
  /** When it last took part in a step, or was admitted. */
  readonly lastRunAt: number;
}

/** The next `count` pending tokens of a sequence, and guesses of what follows when these are all. */
export interface Slice<S> {
  readonly sequence: S;
  readonly count: number;
  readonly draft: readonly number[];
  /** What learns how many guesses were right; default: the sequence's own. */
  readonly guesser?: Acceptance;
}

export interface PlanLimits {
  readonly cost: StepCost;
  readonly now: number;
  readonly maxTokens: number;
  /** Most sequences that can draw a token in one step. */
  readonly maxRows: number;
  /** Whether a request more urgent than this rank came in lately. */
  readonly isOvertakenLately: (rank: number) => boolean;
}

/**
 * Who takes part in the next step. The sequences of the most urgent rank all decode, and prefill in order of arrival.
 * Less urgent ones decode along while that costs the others little, and one of them in turn is a guest of the step when
 * its patience has ended.
 */
export function planStep<S extends Plannable>(
  running: Iterable<S>,
  limits: PlanLimits,
): Slice<S>[] {
  const { cost, maxTokens, maxRows } = limits;
  const order = [...running].sort(byTurn);
  const top = order[0]?.rank ?? 0;
  const guest = guestOf(order, top, limits.now);
  if (guest !== null && isDecoding(guest)) order.sort((a, b) => +(b === guest) - +(a === guest));
  const decodeLimitMs = Math.max(SLICE_MS, MAX_DECODE_SLOWDOWN * cost.estimate(1));
  const slices: Slice<S>[] = [];
  let tokens = 0;
  let rows = 0;
  let hasPrefill = false;

  for (const sequence of order) {
    const { rank, numPending, reach } = sequence;
    const givesWay = rank > top && sequence !== guest;
    let count = Math.min(numPending, reach, maxTokens - tokens);
    if (isDecoding(sequence)) {
      if (givesWay && cost.estimate(tokens + 1) > decodeLimitMs) continue;
    } else {
      if (givesWay) continue;
      const hasCompany = slices.some((slice) => slice.sequence.rank <= rank);
      const isBounded = hasCompany || limits.isOvertakenLately(rank);
      const room = cost.tokensWithin(isBounded ? SLICE_MS : RELAXED_MS) - tokens;
      const atLeast = !hasPrefill || sequence === guest ? MIN_CHUNK : 0;
      count = Math.min(count, Math.max(room, atLeast));
    }
    // Without a row of logits left, the last token waits for the next step.
    if (count === numPending && rows === maxRows) count--;
    if (count <= 0) continue;
    slices.push({ sequence, count, draft: [] });
    tokens += count;
    if (count === numPending) rows++;
    hasPrefill ||= !isDecoding(sequence);
  }
  return slices;
}

/** The one of lower rank that has waited longest, if its patience has ended. */
function guestOf<S extends Plannable>(order: readonly S[], top: number, now: number): S | null {
  const patienceMs = PATIENCE_MS[PRIORITIES[top] ?? 'completion'];
  let guest: S | null = null;
  for (const sequence of order) {
    if (sequence.rank === top || now - sequence.lastRunAt < patienceMs) continue;
    if (guest === null || sequence.lastRunAt < guest.lastRunAt) guest = sequence;
  }
  return guest;
}

function isDecoding({ numPending }: Plannable): boolean {
  return numPending === 1;
}

/** By rank; then decoding ones, who has waited longest first, then prefill by arrival. */
function byTurn(a: Plannable, b: Plannable): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (isDecoding(a) !== isDecoding(b)) return isDecoding(a) ? -1 : 1;
  if (isDecoding(a) && a.lastRunAt !== b.lastRunAt) return a.lastRunAt - b.lastRunAt;
  return isMoreUrgent(a, b) ? -1 : 1;
}
