import type { Draw, Executable, StepBatch } from '../../backend/backend';
import type { PagedCache } from '../../cache/paged';
import { EngineError, isCancelled } from '../../errors';
import type { Acceptance } from '../speculate/acceptance';
import { drawStep } from './draw_step';
import type { Slice } from './plan';
import type { Sequence } from './sequence';
import { buildBatch, type Rows } from './step_batch';
import { StepCost } from './step_cost';

/** What a sequence does in a step. */
type Part = Rows & { readonly sequence: Sequence };

/** A sequence whose last token has been run. */
export interface Drawable {
  readonly sequence: Sequence;
  readonly draft: readonly number[];
  /** As in the slice. */
  readonly guesser: Acceptance | undefined;
  /**
   * Of the next token, then of the one after each drafted token: logits [vocab], or the id that the backend drew.
   */
  readonly rows: readonly (Float32Array | number)[];
}

/** Of the last token of a sequence, if the step reaches it, and of each drafted one. */
function drawsOf({ sequence, table, tokens, count, draft }: Part): (Draw | null)[] {
  if (!sequence.isDrawn || table.length + count < tokens.length) return [];
  return [[], ...draft.map((_, i) => draft.slice(0, i + 1))].map((drafts) =>
    sequence.drawAfter(drafts),
  );
}

/** Runs steps one at a time, learns how long they take, and files what they computed in the cache. */
export class StepRunner {
  readonly cost = new StepCost();
  private expectedEnd = 0;
  private isRunning = false;
  private isCancelled = false;

  constructor(
    private readonly executable: Executable,
    private readonly cache: PagedCache,
    /** Tokens that may be drawn. */
    private readonly vocabSize: number,
    private readonly now: () => number,
  ) {}

  /** Milliseconds that the running step will go on for; 0 when none runs. */
  get remainingMs(): number {
    return this.isRunning ? this.expectedEnd - this.now() : 0;
  }

  /** What the sequences draw from that reach their last token, or null when the step was cancelled: nothing has changed. */
  async run(slices: readonly Slice<Sequence>[]): Promise<Drawable[] | null> {
    const parts = slices.map(({ sequence, count, draft, guesser }) => {
      const { table, tokens, isDrawn } = sequence;
      if (table === null)
        throw new EngineError('internal', '[scheduler] a sequence in a step has no blocks');
      return { sequence, table, tokens, count, draft, guesser, isDrawn };
    });
    const batch = buildBatch(parts);
    const numTokens = batch.tokens.length;
    const started = this.now();
    this.expectedEnd = started + this.cost.estimate(numTokens);
    const draws = parts.flatMap(drawsOf);
    const result = await this.execute(batch, draws).catch((error: unknown) => {
      for (const { table } of parts) this.cache.spoil(table);
      throw error;
    });
    if (result === null) for (const { table } of parts) this.cache.spoil(table);
    if (result === null) return null;

    const now = this.now();
    const hasPrefill = parts.some(({ count }) => count > 1);
    this.cost.observe(numTokens, now - started, hasPrefill);
    this.giveHidden(parts, batch.offsets);
    for (const { sequence, table, tokens, count } of parts) {
      sequence.lastRunAt = now;
      this.cache.commit(table, tokens, table.length + count);
    }
    let row = 0;
    const nextRow = () => result[row++] ?? -1;
    return parts
      .filter(({ sequence, isDrawn }) => isDrawn && sequence.numPending === 0)
      .map(({ sequence, draft, guesser }) => ({
        sequence,
        draft,
        guesser,
        rows: [nextRow(), ...draft.map(nextRow)],
      }));
  }

  /** Hands the hidden states of a step to the sequences that want theirs. */
  private giveHidden(parts: readonly Part[], offsets: Int32Array): void {
    if (parts.every(({ sequence }) => sequence.request.hidden === undefined)) return;
    const states = this.executable.hidden?.();
    if (states === undefined) {
      throw new EngineError('unsupported', 'this backend does not give out hidden states');
    }
    const width = states.length / (offsets.at(-1) ?? 1);
    for (const [s, { sequence, table }] of parts.entries()) {
      const [start = 0, end = 0] = offsets.subarray(s, s + 2);
      sequence.request.hidden?.add(states.subarray(start * width, end * width), table.length);
    }
  }

  /**
   * Files the keys and values of the first `accepted` tokens of a draft. A recurrent state that has seen others belongs to
   * no text of this sequence.
   */
  keep({ table, tokens }: Sequence, { length }: readonly number[], accepted: number): void {
    if (table === null || length === 0) return;
    if (accepted < length) this.cache.spoil(table);
    if (accepted > 0) this.cache.commit(table, tokens, table.length + accepted);
  }

  /** Ends the running step, if there is one. */
  cancel(): void {
    if (!this.isRunning || this.isCancelled) return;
    this.isCancelled = true;
    this.executable.cancel();
  }

  private async execute(
    batch: StepBatch,
    draws: readonly (Draw | null)[],
  ): Promise<readonly (Float32Array | number)[] | null> {
    this.isRunning = true;
    this.isCancelled = false;
    try {
      return await drawStep(this.executable, batch, draws, this.vocabSize);
    } catch (error) {
      if (this.isCancelled && isCancelled(error)) return null;
      throw error;
    } finally {
      this.isRunning = false;
    }
  }
}
