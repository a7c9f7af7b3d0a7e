import type { StepBatch } from '../../backend/backend';
import type { BlockTable } from '../../cache/block_table';

/** The next `count` tokens of a sequence, those drafted behind its last one, and where its keys and values are. */
export interface Rows {
  readonly tokens: readonly number[];
  readonly draft: readonly number[];
  readonly table: BlockTable;
  readonly count: number;
  /** Whether the logits of the last token, and of drafts, are wanted. */
  readonly isDrawn: boolean;
}

/**
 * One step over the given rows; logits are returned, in the same order, of the last token of those that reach it, each
 * followed by those of its draft.
 */
export function buildBatch(sequences: readonly Rows[]): StepBatch {
  const total = sequences.reduce((sum, { count, draft }) => sum + count + draft.length, 0);
  const blocksPerSequence = Math.max(...sequences.map(({ table }) => table.blocks.length));
  const tokens = new Int32Array(total);
  const positions = new Int32Array(total);
  const offsets = new Int32Array(sequences.length + 1);
  const blockTables = new Int32Array(sequences.length * blocksPerSequence);
  const logitRows: number[] = [];
  const slots = sequences.flatMap(({ table }) => (table.slot === null ? [] : [table.slot]));
  let row = 0;
  for (const [s, { tokens: text, draft, table, count, isDrawn }] of sequences.entries()) {
    const end = table.length + count + draft.length;
    for (let position = table.length; position < end; position++, row++) {
      tokens[row] = text[position] ?? draft[position - text.length] ?? -1;
      positions[row] = position;
      if (isDrawn && position >= text.length - 1) logitRows.push(row);
    }
    offsets[s + 1] = row;
    blockTables.set(table.blocks, s * blocksPerSequence);
  }
  return {
    tokens,
    positions,
    offsets,
    blockTables,
    blocksPerSequence,
    logitRows: Int32Array.from(logitRows),
    ...(slots.length > 0 && { stateSlots: Int32Array.from(slots) }),
  };
}
