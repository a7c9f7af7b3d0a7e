import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Executable } from '../../../../extension/engine/backend/backend';
import { createReferenceBackend } from '../../../../extension/engine/backend/reference';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { openCheckpoint } from '../../../../extension/engine/loading/checkpoint';
import { readModelConfig } from '../../../../extension/engine/loading/config';
import { FIXTURES } from '../../loading/model_fixture';

const BLOCKS = 4;
const PROMPT = [5, 90, 17, 33, 120, 64, 8, 71, 150, 2, 44, 19];
const OTHER = [101, 7, 7, 60, 12, 88];

/** Rows of one sequence in a step: its tokens from `start` on, in its slot. */
interface Part {
  readonly ids: readonly number[];
  readonly start: number;
  readonly slot: number;
}

/** A hybrid with recurrent layers; slot s owns KV blocks [s * BLOCKS, (s + 1) * BLOCKS). */
describe('recurrent state', () => {
  let executable: Executable;

  before(async () => {
    const dir = join(FIXTURES, 'families', 'qwen3.5');
    const store = openCheckpoint(dir);
    const program = fuse(buildProgram(readModelConfig(dir), store));
    executable = await createReferenceBackend().compile(program, store, {
      precision: 'exact',
      kvBlocks: 3 * BLOCKS,
      maxTokens: 64,
      maxLogitRows: 4,
      stateSlots: 3,
      threads: 0,
    });
    store.close();
  });
  after(() => executable.dispose());

  /** Logits of each part's last row, one after the other. */
  const step = (...parts: readonly Part[]) => {
    const offsets = parts.reduce(
      (sums, { ids }) => [...sums, (sums.at(-1) ?? 0) + ids.length],
      [0],
    );
    return executable.step({
      tokens: Int32Array.from(parts.flatMap(({ ids }) => ids)),
      positions: Int32Array.from(parts.flatMap(({ ids, start }) => ids.map((_, i) => start + i))),
      offsets: Int32Array.from(offsets),
      blockTables: Int32Array.from(
        parts.flatMap(({ slot }) => Array.from({ length: BLOCKS }, (_, b) => slot * BLOCKS + b)),
      ),
      blocksPerSequence: BLOCKS,
      logitRows: Int32Array.from(offsets.slice(1), (end) => end - 1),
      stateSlots: Int32Array.from(parts, ({ slot }) => slot),
    });
  };
  const whole = (ids: readonly number[], slot = 0) => step({ ids, start: 0, slot });

  test('a prompt in pieces gives the same logits', async () => {
    const expected = await whole(PROMPT);
    await whole(PROMPT.slice(0, 1), 1);
    await step({ ids: PROMPT.slice(1, 7), start: 1, slot: 1 });
    assert.deepEqual(await step({ ids: PROMPT.slice(7), start: 7, slot: 1 }), expected);
  });

  test('sequences in one step do not see each other', async () => {
    const alone = [...(await whole(PROMPT)), ...(await whole(OTHER))];
    await step(
      { ids: PROMPT.slice(0, 4), start: 0, slot: 2 },
      { ids: OTHER.slice(0, 3), start: 0, slot: 1 },
    );
    const together = await step(
      { ids: OTHER.slice(3), start: 3, slot: 1 },
      { ids: PROMPT.slice(4), start: 4, slot: 2 },
    );
    const half = together.length / 2;
    assert.deepEqual([...together.subarray(half), ...together.subarray(0, half)], alone);
  });

  test('a copy goes on without the original', async () => {
    const prefix = PROMPT.slice(0, 8);
    const expected = await whole(PROMPT);
    await whole(prefix, 1);
    await whole(prefix, 2); // keys and values of the copy
    executable.copyState?.(1, 2);
    await step({ ids: OTHER, start: 8, slot: 1 });
    assert.deepEqual(await step({ ids: PROMPT.slice(8), start: 8, slot: 2 }), expected);
  });

  test('what is read of blocks and a slot goes on in others', async () => {
    const expected = await whole(PROMPT);
    await whole(PROMPT.slice(0, 8), 1);
    const { blockStore, stateStore } = executable;
    assert.ok(blockStore !== undefined && stateStore !== undefined);
    const blocksOf = (slot: number) =>
      Int32Array.from({ length: BLOCKS }, (_, b) => slot * BLOCKS + b);
    const blocks = blockStore.read(blocksOf(1));
    const state = stateStore.read(1);
    assert.equal(blocks.length, BLOCKS * blockStore.blockBytes);
    assert.equal(state.length, stateStore.stateBytes);
    await whole(OTHER, 1);
    blockStore.write(blocksOf(2), blocks);
    stateStore.write(2, 8, state);
    assert.deepEqual(await step({ ids: PROMPT.slice(8), start: 8, slot: 2 }), expected);
    const bad = { code: 'bad_request' };
    assert.throws(() => blockStore.write(blocksOf(2), blocks.subarray(4)), bad);
    assert.throws(() => blockStore.read(Int32Array.of(3 * BLOCKS)), bad);
    assert.throws(() => stateStore.write(2, 8, state.subarray(4)), bad);
    assert.throws(() => stateStore.read(3), bad);
  });

  test('a step that does not go on where the slot stands is refused', async () => {
    await whole(PROMPT, 0);
    const early = step({ ids: [4], start: 3, slot: 0 });
    await assert.rejects(early, {
      code: 'bad_request',
      message: /slot 0 holds 12 tokens, expected 3/,
    });
    await step({ ids: [4], start: 12, slot: 0 });
  });

  test('a cancelled step leaves its slot void until the sequence starts anew', async () => {
    await whole(PROMPT, 0);
    const long = Array.from({ length: 48 }, (_, i) => i); // more than one turn of the event loop
    const running = step({ ids: long, start: 12, slot: 0 });
    executable.cancel();
    await assert.rejects(running, { code: 'cancelled' });
    const next = step({ ids: OTHER, start: 12, slot: 0 });
    await assert.rejects(next, { code: 'bad_request', message: /slot 0 is void/ });
    await whole(PROMPT, 0);
  });

  test('a slot that is missing, unknown or shared is refused', async () => {
    const request = { code: 'bad_request' } as const;
    await assert.rejects(whole(PROMPT, 3), request);
    const both = { ids: OTHER, start: 0, slot: 1 };
    await assert.rejects(step(both, both), { ...request, message: /share a state slot/ });
    const batch = {
      tokens: Int32Array.of(1),
      positions: Int32Array.of(0),
      offsets: Int32Array.of(0, 1),
      blockTables: Int32Array.of(0),
      blocksPerSequence: 1,
      logitRows: Int32Array.of(0),
    };
    await assert.rejects(executable.step(batch), { ...request, message: /0 state slots for 1/ });
  });
});
