import type { Program } from '../core/program';
import { EngineError } from '../errors';
import type { CompileOptions, StepBatch } from './backend';

/** Throws bad_request when a step does not fit the program or its memory; backends call it before they touch anything. */
export function validateBatch(
  batch: StepBatch,
  program: Program,
  options: CompileOptions,
  kvBlockSize: number,
): void {
  const { tokens, positions, offsets, blockTables, blocksPerSequence, logitRows } = batch;
  const bad = (what: string): never => {
    throw new EngineError('bad_request', `[step] ${what}`);
  };
  const rows = tokens.length;
  if (rows === 0 || rows > options.maxTokens)
    bad(`${rows} tokens, expected 1 to ${options.maxTokens}`);
  if (positions.length !== rows) bad(`${positions.length} positions for ${rows} tokens`);
  const sequences = offsets.length - 1;
  if (sequences < 1 || offsets[0] !== 0 || offsets[sequences] !== rows)
    bad('offsets do not cover the rows');
  if (blockTables.length !== sequences * blocksPerSequence) {
    bad(`${blockTables.length} block table entries, expected ${sequences * blocksPerSequence}`);
  }
  for (let s = 0; s < sequences; s++) {
    const begin = offsets[s] ?? 0;
    const end = offsets[s + 1] ?? 0;
    if (end <= begin) bad(`sequence ${s} has no rows`);
    for (let row = begin; row < end; row++) {
      const token = tokens[row] ?? -1;
      if (token < 0 || token >= program.vocabSize) {
        bad(`token ${token}, expected 0 to ${program.vocabSize - 1}`);
      }
      const position = positions[row] ?? -1;
      if (position < 0 || position !== (positions[begin] ?? 0) + row - begin) {
        bad(`position ${position} of row ${row} does not follow`);
      }
      const entry = Math.floor(position / kvBlockSize);
      const block =
        entry < blocksPerSequence ? (blockTables[s * blocksPerSequence + entry] ?? -1) : -1;
      if (block < 0 || block >= options.kvBlocks) bad(`position ${position} has no KV block`);
    }
  }
  if ((program.stateLayers ?? []).length > 0) checkStateSlots(batch, options.stateSlots ?? 1, bad);
  if (logitRows.length > options.maxLogitRows) {
    bad(`${logitRows.length} rows of logits, expected at most ${options.maxLogitRows}`);
  }
  for (const row of logitRows)
    if (row < 0 || row >= rows) bad(`logits of row ${row}, expected 0 to ${rows - 1}`);
}

function checkStateSlots(
  { offsets, stateSlots }: StepBatch,
  numSlots: number,
  bad: (what: string) => never,
): void {
  const sequences = offsets.length - 1;
  if (stateSlots?.length !== sequences) {
    bad(`${stateSlots?.length ?? 0} state slots for ${sequences} sequences`);
  }
  for (const slot of stateSlots ?? []) {
    if (slot < 0 || slot >= numSlots) bad(`state slot ${slot}, expected 0 to ${numSlots - 1}`);
  }
  if (new Set(stateSlots).size !== sequences) bad('two sequences share a state slot');
}
