import type { Draw, Executable } from '../../backend/backend';
import type { PagedCache } from '../../cache/paged';
import type { BlockTable } from '../../cache/block_table';
import { commonPrefix } from '../../cache/prefix';
import { EngineError } from '../../errors';
import { drawStep } from '../scheduler/draw_step';
import { MIN_CHUNK, SLICE_MS } from '../scheduler/limits';
import { buildBatch, type Rows } from '../scheduler/step_batch';
import { StepCost } from '../scheduler/step_cost';
import { Acceptance } from './acceptance';

/** An answer that is guessed at. The object stands for it in later calls. */
export interface Guessed {
  /** Prompt and answer so far. */
  readonly tokens: readonly number[];
  /** How the backend may draw the token after `ahead` more ones; null when `guess` wants logits. */
  drawAfter(ahead: readonly number[]): Draw | null;
  /**
   * The token that would be drawn after `ahead` more ones, if these were the logits [vocab], which it may change; or the
   * one that was drawn.
   */
  guess(logits: Float32Array | number, ahead: readonly number[]): number;
}

/** At most so many tokens are wanted for an answer. */
export interface Wanted {
  readonly answer: Guessed;
  readonly most: number;
}

export interface DraftModelParts {
  readonly executable: Executable;
  /** Of a model without recurrent state, since wrong guesses are taken back. */
  readonly cache: PagedCache;
  /** Of the executable. */
  readonly maxTokens: number;
  /** Most answers in one step. */
  readonly maxRows: number;
  /** Tokens that both models have. */
  readonly vocabSize: number;
  readonly now: () => number;
}

/** What the model has seen of an answer. */
interface Track {
  readonly table: BlockTable;
  /** Tokens that were run behind `table.length`, right or wrong. */
  ran: readonly number[];
}

/** An answer in the steps of one call. */
interface Drafting extends Wanted {
  readonly track: Track;
  /** Its tokens, and then those that are guessed. */
  readonly known: number[];
}

/** The next `count` tokens of a text that the model has not read to its end. */
interface Reading {
  readonly answer: Guessed;
  readonly track: Track;
  readonly count: number;
}

/**
 * A small model that guesses what a large one with the same tokens will say (Leviathan et al. 2023,
 * https://arxiv.org/abs/2211.17192), for many answers in the same steps. It draws with the random numbers that the
 * large model will draw with at the same places, so that guesses agree as often as the distributions do, and the answer
 * does not depend on what was guessed, nor whether (Daliri et al. 2024, https://arxiv.org/abs/2408.07978).
 */
export class DraftModel {
  readonly cost = new StepCost();
  /** Over all answers: a new one begins with what is known of the two models. */
  readonly acceptance = new Acceptance();
  private readonly tracks = new Map<Guessed, Track>();

  constructor(private readonly parts: DraftModelParts) {}

  /** Tokens of an answer that the model would have to read before it can guess. */
  lag(answer: Guessed): number {
    const track = this.tracks.get(answer);
    return answer.tokens.length - (track?.table.length ?? 0);
  }

  /** Whether an answer fits the model's memory. */
  hasRoom(answer: Guessed): boolean {
    return answer.tokens.length < this.parts.cache.contextLength;
  }

  /**
   * Guesses for answers, at least one for each that the model has read up to its end; it reads a part of the others.
   * Ends early when `isOver` says so. Rejects as the executable does.
   */
  async propose(
    wanted: readonly Wanted[],
    isOver: () => boolean,
  ): Promise<ReadonlyMap<Guessed, readonly number[]>> {
    const guesses = new Map<Guessed, readonly number[]>();
    const { ready, reading } = this.plan(wanted.slice(0, this.parts.maxRows));
    let drafting = ready;
    let readers = reading;
    while (drafting.length + readers.length > 0 && !isOver()) {
      await this.step(drafting, readers);
      for (const { answer, known } of drafting)
        guesses.set(answer, known.slice(answer.tokens.length));
      drafting = drafting.filter((one) => this.wantsMore(one));
      readers = [];
    }
    return guesses;
  }

  /** The answer has ended; what was computed for it serves others. */
  release(answer: Guessed): void {
    const track = this.tracks.get(answer);
    if (track === undefined) return;
    this.tracks.delete(answer);
    this.parts.cache.release(track.table, answer.tokens);
  }

  dispose(): void {
    this.parts.executable.dispose();
  }

  /** Throws 'internal' when a block is lost, or held twice. */
  checkIntegrity(): void {
    this.parts.cache.checkIntegrity([...this.tracks.values()].map(({ table }) => table));
  }

  /** Who can be guessed at once, and the one that has a part of its text read meanwhile. */
  private plan(wanted: readonly Wanted[]): {
    readonly ready: readonly Drafting[];
    readonly reading: readonly Reading[];
  } {
    const { cache, maxTokens } = this.parts;
    const ready: Drafting[] = [];
    const reading: Reading[] = [];
    let left = Math.min(maxTokens, Math.max(MIN_CHUNK, this.cost.tokensWithin(SLICE_MS)));
    for (const { answer, most } of wanted) {
      const track = this.trackOf(answer);
      const { tokens } = answer;
      const count = Math.min(tokens.length - track.table.length, left);
      const end = track.table.length + count;
      if (count === 0) continue;
      if (!cache.reserve(track.table, end)) this.release(answer);
      else if (end < tokens.length) reading.push({ answer, track, count });
      else ready.push({ answer, most, track, known: [...tokens] });
      left -= count;
    }
    return { ready, reading };
  }

  /** A token more for each that is guessed at, and a part of each text that is read. */
  private async step(drafting: readonly Drafting[], reading: readonly Reading[]): Promise<void> {
    const drawn = drafting.map(({ track, known }) => {
      const length = track.table.length + track.ran.length;
      const table = { ...track.table, length };
      return { tokens: known, draft: [], table, count: known.length - length, isDrawn: true };
    });
    const read = reading.map(({ answer: { tokens }, track: { table }, count }) => ({
      tokens,
      draft: [],
      table,
      count,
      isDrawn: false,
    }));
    const draws = drafting.map(({ answer, known }) =>
      answer.drawAfter(known.slice(answer.tokens.length)),
    );
    const rows = await this.run([...drawn, ...read], draws);
    for (const { answer, track, count } of reading) {
      if (this.tracks.get(answer) !== track) continue;
      this.parts.cache.commit(track.table, answer.tokens, track.table.length + count);
    }
    for (const [i, { answer, track, known }] of drafting.entries()) {
      track.ran = known.slice(track.table.length);
      const next = answer.guess(rows[i] ?? -1, known.slice(answer.tokens.length));
      if (next < 0) throw new EngineError('internal', '[draft model] the logits are not numbers');
      known.push(next);
    }
  }

  private async run(
    parts: readonly Rows[],
    draws: readonly (Draw | null)[],
  ): Promise<readonly (Float32Array | number)[]> {
    const { executable, vocabSize, now } = this.parts;
    const batch = buildBatch(parts);
    const started = now();
    const rows = await drawStep(executable, batch, draws, vocabSize);
    this.cost.observe(batch.tokens.length, now() - started, batch.tokens.length > 2 * parts.length);
    return rows.map((row) => (typeof row === 'number' ? row : row.subarray(0, vocabSize)));
  }

  private wantsMore({ answer, most, track, known }: Drafting): boolean {
    const { cache } = this.parts;
    const isWanted =
      known.length - answer.tokens.length < most && this.tracks.get(answer) === track;
    return (
      isWanted && known.length < cache.contextLength && cache.reserve(track.table, known.length)
    );
  }

  /** Takes back what was guessed wrong. */
  private trackOf(answer: Guessed): Track {
    const { cache } = this.parts;
    const { tokens } = answer;
    const track = this.tracks.get(answer) ?? { table: cache.acquire(tokens), ran: [] };
    this.tracks.set(answer, track);
    const { table, ran } = track;
    // The last token is run again: its logits are wanted.
    const right = commonPrefix(ran, tokens.slice(table.length, -1));
    if (right > 0) cache.commit(table, tokens, table.length + right);
    track.ran = [];
    return track;
  }
}
