import type { Draw, Executable, StepBatch } from '../../../extension/engine/backend/backend';
import { EngineError } from '../../../extension/engine/errors';
import { blocksFor } from '../../../extension/engine/cache/blocks';
import { drawStep } from '../../../extension/engine/generation/scheduler/draw_step';

/** A sequence's place in the KV pool and the tokens whose keys and values are there. */
export interface Slot {
  readonly index: number;
  /** It has recurrent state too, in the state slot of this index. */
  readonly isRecurrent: boolean;
  readonly blockTable: Int32Array;
  /** Tokens at positions [0, tokens.length). */
  readonly tokens: number[];
  lastUse: number;
}

/**
 * The simple KV cache: a few slots, each one whole context of contiguous blocks. A request takes the slot that
 * shares the longest prefix with it, and pays only for the rest. Recurrent state cannot be cut back: with it a slot is
 * worth something only to a request that goes on where it ends.
 */
export class DenseCache {
  private readonly slots: readonly Slot[];
  private clock = 0;

  constructor(
    numSlots: number,
    readonly contextLength: number,
    kvBlockSize: number,
    isRecurrent = false,
  ) {
    const blocks = blocksFor(contextLength, kvBlockSize);
    this.slots = Array.from({ length: numSlots }, (_, s) => ({
      index: s,
      isRecurrent,
      blockTable: Int32Array.from({ length: blocks }, (_, b) => s * blocks + b),
      tokens: [],
      lastUse: 0,
    }));
  }

  /**
   * The best slot for a prompt, cut to the common prefix. At least the last token of the prompt is left out, since
   * its logits are wanted. A slot that shares little is better left to its own user when an older one is free.
   */
  acquire(ids: readonly number[]): Slot {
    let best: Slot | undefined;
    let bestShared = -1;
    for (const slot of this.slots) {
      const shared = this.reusable(slot, ids);
      if (shared > bestShared) [best, bestShared] = [slot, shared];
    }
    if (best === undefined) throw new EngineError('internal', 'the KV cache has no slots');
    if (bestShared === 0 || bestShared < Math.min(best.tokens.length, ids.length) / 2) {
      best = this.slots.reduce((a, b) => (b.lastUse < a.lastUse ? b : a));
    }
    best.tokens.length = this.reusable(best, ids);
    best.lastUse = ++this.clock;
    return best;
  }

  /** Tokens of the slot that need not be computed again for these. */
  private reusable({ tokens, isRecurrent }: Slot, ids: readonly number[]): number {
    const shared = Math.min(commonPrefix(tokens, ids), ids.length - 1);
    return isRecurrent && shared < tokens.length ? 0 : shared;
  }
}

/** How the token after a step's last one is drawn: by the backend, or, with null, from logits. */
export interface NextToken {
  readonly draw: Draw | null;
  readonly vocabSize: number;
}

/**
 * Runs one sequence's next tokens and appends them to its slot. Returns what the scheduler would draw the next token from:
 * logits [vocab], or the id that the backend drew; null when no next one is wanted. When the step fails the slot keeps only
 * what was valid before.
 */
export async function extend(
  executable: Executable,
  slot: Slot,
  ids: readonly number[],
  next: NextToken | null,
): Promise<Float32Array | number | null> {
  const start = slot.tokens.length;
  const batch: StepBatch = {
    tokens: Int32Array.from(ids),
    positions: Int32Array.from(ids, (_, i) => start + i),
    offsets: Int32Array.of(0, ids.length),
    blockTables: slot.blockTable,
    blocksPerSequence: slot.blockTable.length,
    logitRows: next ? Int32Array.of(ids.length - 1) : new Int32Array(),
    stateSlots: Int32Array.of(slot.index),
  };
  const draws = next ? [next.draw] : [];
  const rows = await drawStep(executable, batch, draws, next?.vocabSize ?? 0).catch(
    (error: unknown) => {
      if (slot.isRecurrent) slot.tokens.length = 0; // a failed step leaves the state void
      throw error;
    },
  );
  for (const id of ids) slot.tokens.push(id);
  return rows[0] ?? null;
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const n = Math.min(a.length, b.length);
  let i = 0;
  while (i < n && a[i] === b[i]) i++;
  return i;
}
