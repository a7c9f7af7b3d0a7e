import type { StateStore } from '../../backend/backend';
import type { Segment } from '../../cache/saved/segment_file';
import type { SegmentFolder } from '../../cache/saved/segment_folder';
import { SEGMENT_TOKENS } from '../../cache/saved/segment_keys';
import type { IdleWork } from '../idle_work';
import { piecesOf, segmentsOf, stateAfter, type PieceParts } from './pieces';
import { RecentTexts } from './recent_texts';

/** Shorter texts are computed again in little time. */
export const MIN_SAVED_TOKENS = 512;
/** Nobody has asked for anything in so long: whoever comes next does not wait for the disk. */
const IDLE_MS = 5000;
/** For what is still to be written at the end; the host lets its child a second. */
const CLOSE_MS = 500;

export interface SavedCacheParts extends PieceParts {
  readonly folder: SegmentFolder;
  /** Default: IDLE_MS. */
  readonly idleMs?: number;
}

/** Runs a task at the next moment without a step. */
export type BetweenSteps = <T>(task: () => T) => Promise<T>;

/** A text that is to be brought back. */
interface Wanted {
  readonly tokens: readonly number[];
  readonly segments: readonly Segment[];
  readonly between: BetweenSteps;
  readonly signal: AbortSignal | undefined;
}

/**
 * The prefix tree beyond the life of a process: when nothing runs, what long texts have computed is written to disk in
 * segments, and a prompt that begins with one takes it from there. Each segment is written once, whoever shares it. Where
 * there is a recurrent state, the text goes as far as a segment at whose end the state is known, and both are written.
 */
export class SavedCache implements IdleWork {
  private readonly recent = new RecentTexts();
  private timer: NodeJS.Timeout | undefined;
  private saving: Promise<void> | null = null;
  /** Whether a step may run. */
  private isBusy = false;
  /** What was offered before the last call of `forgetUnwritten` is not written. */
  private numForgotten = 0;

  constructor(private readonly parts: SavedCacheParts) {}

  /** Brings what the disk has of a text's beginning into the cache. Ends early after an abort. */
  async restore(
    tokens: readonly number[],
    between: BetweenSteps,
    signal?: AbortSignal,
  ): Promise<void> {
    if (tokens.length < MIN_SAVED_TOKENS) return;
    const wanted = {
      tokens,
      segments: segmentsOf(this.parts.fingerprint, tokens),
      between,
      signal,
    };
    if (this.parts.stateStore === undefined) await this.restoreBlocks(wanted);
    else await this.restoreState(wanted, this.parts.stateStore);
  }

  /** A text of which keys and values may be in the cache; written later. */
  offer(tokens: readonly number[]): void {
    if (tokens.length >= MIN_SAVED_TOKENS) this.recent.add(tokens);
  }

  /** Writes nothing of the texts so far that is not written yet. */
  async forgetUnwritten(): Promise<void> {
    this.recent.clear();
    this.numForgotten++;
    await this.saving;
  }

  wake(): void {
    this.isBusy = true;
    clearTimeout(this.timer);
  }

  rest(): void {
    this.isBusy = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.save(), this.parts.idleMs ?? IDLE_MS);
    this.timer.unref();
  }

  /** Writes what there is, as far as it can be done soon. No step may run, then or later. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.isBusy = false;
    const end = setTimeout(() => (this.isBusy = true), CLOSE_MS);
    await this.save();
    clearTimeout(end);
    this.isBusy = true;
  }

  /** Writes until all is written or something runs again. */
  private save(): Promise<void> {
    this.saving ??= this.saveAll().finally(() => (this.saving = null));
    return this.saving;
  }

  private async saveAll(): Promise<void> {
    for (let text = this.recent.take(); text !== undefined; text = this.recent.take()) {
      const { numForgotten } = this;
      if (await this.saveText(text)) continue;
      if (numForgotten === this.numForgotten) this.recent.putBack(text);
      return;
    }
  }

  /** False when a step may have begun, or the text was to be forgotten, before all was written. */
  private async saveText(tokens: readonly number[]): Promise<boolean> {
    const { folder } = this.parts;
    const { numForgotten } = this;
    const { blocks, states } = piecesOf(this.parts, tokens);
    // States are large: whether there is room for them is seen first.
    for (const { segment, read } of [...states, ...blocks]) {
      if (await folder.has(segment.key)) continue;
      if (this.isBusy || numForgotten !== this.numForgotten) return false;
      const bytes = read();
      // Given up for others meanwhile, or never run.
      if (bytes === null || !(await folder.write(segment, bytes))) break;
    }
    await folder.touch([...blocks, ...states].map(({ segment }) => segment.key));
    return true;
  }

  /** Brings segments back as far as they are known; returns how many are in the cache then. */
  private async restoreBlocks(wanted: Wanted, segments = wanted.segments): Promise<number> {
    const { cache, folder } = this.parts;
    const { tokens, between, signal } = wanted;
    const known = Math.floor(cache.cachedLength(tokens) / SEGMENT_TOKENS);
    let index = known;
    for (const segment of segments.slice(known)) {
      const bytes = await folder.read(segment, this.segmentBytes);
      if (bytes === null || signal?.aborted === true) break;
      const isThere = await between(() => this.adopt(tokens, index, bytes));
      if (!isThere) break;
      index++;
    }
    if (index > known) void folder.touch(segments.map(({ key }) => key));
    return index;
  }

  /** Brings the longest beginning back at whose end the state is known, if it is longer than what the cache has. */
  private async restoreState(wanted: Wanted, stateStore: StateStore): Promise<void> {
    const { cache, folder } = this.parts;
    const { tokens, between, signal } = wanted;
    const known = cache.stateLengths(tokens).at(-1) ?? 0;
    // The last token is run, since its logits are wanted.
    let end = Math.floor((tokens.length - 1) / SEGMENT_TOKENS);
    for (; end * SEGMENT_TOKENS > known && signal?.aborted !== true; end--) {
      const segments = wanted.segments.slice(0, end);
      const [last] = segments.slice(-1);
      const state = last && stateAfter(last);
      if (state === undefined || !(await folder.has(state.key))) continue;
      const numCached = await this.restoreBlocks(wanted, segments);
      end = Math.min(end, numCached + 1);
      if (numCached < segments.length) continue;
      const bytes = await folder.read(state, stateStore.stateBytes);
      if (bytes === null) continue;
      const length = end * SEGMENT_TOKENS;
      await between(() =>
        cache.adoptState(tokens, length, (slot) => stateStore.write(slot, length, bytes)),
      );
      void folder.touch([...segments, state].map(({ key }) => key));
      return;
    }
  }

  /** Puts segment `index` of a text into the cache; false when there is no room. */
  private adopt(tokens: readonly number[], index: number, bytes: Uint8Array): boolean {
    const { cache, store } = this.parts;
    const from = index * SEGMENT_TOKENS;
    const to = from + SEGMENT_TOKENS;
    return cache.adopt(tokens, from, to, (blocks, first) => {
      const skipped = (first - cache.blocksFor(from)) * store.blockBytes;
      store.write(Int32Array.from(blocks), bytes.subarray(skipped));
    });
  }

  private get segmentBytes(): number {
    const { store, cache } = this.parts;
    return cache.blocksFor(SEGMENT_TOKENS) * store.blockBytes;
  }
}
