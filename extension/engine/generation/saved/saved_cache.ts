import type { BlockStore } from '../../backend/backend';
import type { PagedCache } from '../../cache/paged';
import type { Segment } from '../../cache/saved/segment_file';
import type { SegmentFolder } from '../../cache/saved/segment_folder';
import { SEGMENT_TOKENS, segmentKeys } from '../../cache/saved/segment_keys';
import type { IdleWork } from '../idle_work';
import { RecentTexts } from './recent_texts';

/** Shorter texts are computed again in little time. */
export const MIN_SAVED_TOKENS = 512;
/** Nobody has asked for anything in so long: whoever comes next does not wait for the disk. */
const IDLE_MS = 5000;
/** For what is still to be written at the end; the host lets its child a second. */
const CLOSE_MS = 500;

export interface SavedCacheParts {
  readonly store: BlockStore;
  /** Of a model without recurrent state, which no prefix gives back. */
  readonly cache: PagedCache;
  readonly folder: SegmentFolder;
  /** Differs where the same text has other keys and values, or they lie otherwise. */
  readonly fingerprint: string;
  /** Default: IDLE_MS. */
  readonly idleMs?: number;
}

/** Runs a task at the next moment without a step. */
export type BetweenSteps = <T>(task: () => T) => Promise<T>;

/**
 * The prefix tree beyond the life of a process: when nothing runs, what long texts have computed is written to disk in
 * segments, and a prompt that begins with one takes it from there. Each segment is written once, whoever shares it.
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
    const { cache, folder } = this.parts;
    const segments = this.segmentsOf(tokens);
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
    const { store, cache, folder } = this.parts;
    const { numForgotten } = this;
    const segments = this.segmentsOf(tokens);
    for (const [i, segment] of segments.entries()) {
      if (await folder.has(segment.key)) continue;
      if (this.isBusy || numForgotten !== this.numForgotten) return false;
      const blocks = cache.blocksOf(tokens, i * SEGMENT_TOKENS, (i + 1) * SEGMENT_TOKENS);
      // Given up for others meanwhile, or never run.
      if (blocks === null) break;
      if (!(await folder.write(segment, store.read(Int32Array.from(blocks))))) break;
    }
    await folder.touch(segments.map(({ key }) => key));
    return true;
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

  private segmentsOf(tokens: readonly number[]): Segment[] {
    return segmentKeys(this.parts.fingerprint, tokens).map((key, i) => ({
      key,
      tokens: tokens.slice(i * SEGMENT_TOKENS, (i + 1) * SEGMENT_TOKENS),
    }));
  }
}
