import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { SegmentFolder } from '../../../../extension/engine/cache/saved/segment_folder';
import { SEGMENT_TOKENS } from '../../../../extension/engine/cache/saved/segment_keys';
import { SavedCache } from '../../../../extension/engine/generation/saved/saved_cache';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { GREEDY, type GenerateRequest } from '../../../../extension/engine/generation/types';
import { until } from '../../../until';
import { EOS, ToyModel, toyPrompt, toyTokenizer, VOCAB_SIZE } from '../scheduler/toy_model';

const BLOCK_SIZE = 16;
let folder: string;
const files = () =>
  readdirSync(folder, { recursive: true }).filter((f) => String(f).endsWith('.kv'));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anllm-saved-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A process: nothing but the folder outlives it. */
function start({
  fingerprint = 'toy',
  numBlocks = 128,
  idleMs = 1_000_000,
  copies = true,
  maxBytes = 2 ** 24,
  /** Slots for recurrent state. */
  numSlots = 0,
} = {}) {
  const options = { numBlocks, blockSize: BLOCK_SIZE, maxTokens: 256, maxRows: 8, copies };
  const model = new ToyModel({ ...options, ...(numSlots > 0 && { states: numSlots }) });
  const { copyBlocks, copyState: copy } = model;
  const states = { numSlots, copy, savedEvery: SEGMENT_TOKENS };
  const cache = new PagedCache({
    numBlocks,
    blockSize: BLOCK_SIZE,
    contextLength: 2048,
    copyBlocks,
    ...(numSlots > 0 && { states }),
  });
  const saved = new SavedCache({
    store: model.blockStore,
    ...(numSlots > 0 && { stateStore: model.stateStore }),
    cache,
    folder: new SegmentFolder({ folder, maxBytes }),
    fingerprint,
    idleMs,
  });
  const scheduler = new Scheduler({
    executable: model,
    cache,
    tokenizer: toyTokenizer,
    eosIds: [EOS],
    vocabSize: VOCAB_SIZE,
    prefillStep: 256,
    maxRows: 8,
    saved,
    now: model.now,
  });
  model.onStep = () => scheduler.checkIntegrity();
  return { model, cache, scheduler };
}

function chat(ids: readonly number[], extra: Partial<GenerateRequest> = {}): GenerateRequest {
  const usual = { maxTokens: 8, sampling: GREEDY, stop: [], ignoreEos: true } as const;
  return { ids, ...usual, priority: 'chat', ...extra };
}

/** The answer of a process of its own, which then ends. */
async function answer(request: GenerateRequest, options: Parameters<typeof start>[0] = {}) {
  const { scheduler, cache } = start(options);
  const result = await scheduler.generate(request);
  await scheduler.close();
  scheduler.checkIntegrity();
  assert.equal(cache.numAvailable, cache.numBlocks);
  return result;
}

describe('what is kept of conversations', () => {
  test('serves after a restart, in whole segments, and the answer is the same', async () => {
    const ids = toyPrompt(700, 1);
    const cold = await answer(chat(ids));
    assert.equal(cold.cachedTokens, 0);
    assert.equal(files().length, 5);
    for (const copies of [true, false]) {
      const warm = await answer(chat(ids), { copies });
      assert.equal(warm.cachedTokens, 5 * SEGMENT_TOKENS);
      assert.deepEqual(warm.ids, cold.ids);
    }
    const next = [...ids, ...cold.ids, ...toyPrompt(200, 2)];
    const turn = await answer(chat(next));
    assert.equal(turn.cachedTokens, 5 * SEGMENT_TOKENS);
    rmSync(join(folder, 'sessions'), { recursive: true });
    assert.deepEqual(turn.ids, (await answer(chat(next))).ids);
  });

  test('goes on where texts part inside a segment, and beside what is in memory', async () => {
    const ids = toyPrompt(800, 3);
    await answer(chat(ids));
    const other = [...ids.slice(0, 600), ...toyPrompt(200, 4)];
    const { scheduler } = start();
    const [first, second] = await Promise.all([
      scheduler.generate(chat(other)),
      scheduler.generate(chat(ids)),
    ]);
    assert.ok((first?.cachedTokens ?? 0) >= 4 * SEGMENT_TOKENS);
    assert.ok((second?.cachedTokens ?? 0) >= 6 * SEGMENT_TOKENS);
    await scheduler.close();
    rmSync(join(folder, 'sessions'), { recursive: true });
    assert.deepEqual(first?.ids, (await answer(chat(other))).ids);
    assert.deepEqual(second?.ids, (await answer(chat(ids))).ids);
  });

  test('is written when nothing has run for a while, not before the end of the process', async () => {
    const { scheduler } = start({ idleMs: 1 });
    await scheduler.generate(chat(toyPrompt(600, 5)));
    await until('the files', () => files().length === 4);
    await scheduler.close();
  });

  test('is nothing of what was to be forgotten before it was written', async () => {
    const { scheduler } = start();
    await scheduler.generate(chat(toyPrompt(600, 5)));
    await scheduler.forgetUnwritten();
    await scheduler.generate(chat(toyPrompt(700, 7)));
    await scheduler.close();
    assert.equal(files().length, 5);
  });

  test('is nothing of short texts, completions and background work', async () => {
    await answer(chat(toyPrompt(500, 6), { maxTokens: 4 }));
    await answer(chat(toyPrompt(700, 7), { priority: 'completion' }));
    await answer(chat(toyPrompt(700, 7), { priority: 'background' }));
    assert.deepEqual(files(), []);
    await answer(chat(toyPrompt(700, 7), { priority: 'port' }));
    assert.equal(files().length, 5);
  });

  test('is no other model’s', async () => {
    const ids = toyPrompt(700, 8);
    await answer(chat(ids));
    assert.equal((await answer(chat(ids), { fingerprint: 'other' })).cachedTokens, 0);
  });

  test('is used up to the first damaged file, which is made anew', async () => {
    const ids = toyPrompt(700, 9);
    const cold = await answer(chat(ids));
    const [, second] = files().map(String).sort();
    writeFileSync(join(folder, String(second)), 'broken');
    const warm = await answer(chat(ids));
    assert.deepEqual(warm.ids, cold.ids);
    assert.ok(warm.cachedTokens < 5 * SEGMENT_TOKENS && warm.cachedTokens % SEGMENT_TOKENS === 0);
    assert.equal(files().length, 5);
    assert.equal((await answer(chat(ids))).cachedTokens, 5 * SEGMENT_TOKENS);
  });

  test('takes no block from what runs', async () => {
    const ids = toyPrompt(640, 10);
    await answer(chat(ids));
    const { scheduler, cache } = start({ numBlocks: 48 });
    const [running, restored] = await Promise.all([
      scheduler.generate(chat(toyPrompt(400, 11), { maxTokens: 60 })),
      scheduler.generate(chat(ids)),
    ]);
    assert.equal(running?.ids.length, 60);
    assert.equal(restored?.ids.length, 8);
    assert.equal(cache.numAvailable, cache.numBlocks);
    await scheduler.close();
  });

  test('is not waited for by who has gone, nor after the end', async () => {
    const ids = toyPrompt(700, 12);
    await answer(chat(ids));
    const { scheduler, model } = start();
    const gone = new AbortController();
    const asked = scheduler.generate(chat(ids, { signal: gone.signal }));
    gone.abort();
    await assert.rejects(asked, { code: 'cancelled' });
    const late = scheduler.generate(chat(ids));
    const refused = assert.rejects(late, { code: 'unavailable' });
    await scheduler.close();
    await refused;
    assert.equal(model.numSteps, 0);
    scheduler.checkIntegrity();
  });
});

describe('what is kept of conversations with a model with recurrent state', () => {
  const recurrent = { numSlots: 8 };
  const coldly = async (ids: readonly number[], maxTokens = 8) => {
    const { scheduler } = start(recurrent);
    // Nothing is looked for on behalf of completions.
    const result = await scheduler.generate(chat(ids, { maxTokens, priority: 'completion' }));
    await scheduler.close();
    assert.equal(result.cachedTokens, 0);
    return result.ids;
  };

  test('serves after a restart up to the last segment of the prompt, and the answer is the same', async () => {
    const ids = toyPrompt(700, 1);
    const cold = await answer(chat(ids), recurrent);
    assert.equal(cold.cachedTokens, 0);
    assert.equal(files().length, 5 + 1);
    const warm = await answer(chat(ids), recurrent);
    assert.equal(warm.cachedTokens, 5 * SEGMENT_TOKENS);
    assert.deepEqual(warm.ids, cold.ids);
    const next = [...ids, ...cold.ids, ...toyPrompt(200, 2)];
    const turn = await answer(chat(next), recurrent);
    assert.equal(turn.cachedTokens, 5 * SEGMENT_TOKENS);
    assert.deepEqual(turn.ids, await coldly(next));
    assert.equal((await answer(chat(next), recurrent)).cachedTokens, 7 * SEGMENT_TOKENS);
  });

  test('goes up to the last segment of a long answer', async () => {
    const ids = toyPrompt(600, 2);
    const cold = await answer(chat(ids, { maxTokens: 500 }), recurrent);
    // At 512 and at 1024 tokens; those between gave way to the last.
    assert.equal(files().length, 8 + 2);
    const next = [...ids, ...cold.ids, 1, 2, 3];
    const turn = await answer(chat(next), recurrent);
    assert.equal(turn.cachedTokens, 8 * SEGMENT_TOKENS);
    assert.deepEqual(turn.ids, await coldly(next));
  });

  test('serves a text that parts from it as far as an earlier turn reached', async () => {
    const ids = toyPrompt(700, 3);
    const { ids: first } = await answer(chat(ids), recurrent);
    const whole = [...ids, ...first, ...toyPrompt(400, 4)];
    await answer(chat(whole), recurrent);
    const fork = [...whole.slice(0, 900), ...toyPrompt(100, 5)];
    const forked = await answer(chat(fork), recurrent);
    assert.equal(forked.cachedTokens, 5 * SEGMENT_TOKENS);
    assert.deepEqual(forked.ids, await coldly(fork));
    const early = [...whole.slice(0, 300), ...toyPrompt(400, 6)];
    const parted = await answer(chat(early), recurrent);
    assert.equal(parted.cachedTokens, 0);
    assert.deepEqual(parted.ids, await coldly(early));
  });

  test('does without what is damaged, which is made anew', async () => {
    const ids = toyPrompt(700, 7);
    const next = [...ids, ...(await answer(chat(ids), recurrent)).ids, ...toyPrompt(400, 8)];
    const cold = await answer(chat(next), recurrent);
    const all = files().map(String);
    assert.equal(all.length, 8 + 2);
    for (const file of all) {
      writeFileSync(join(folder, file), 'broken');
      const warm = await answer(chat(next), recurrent);
      assert.deepEqual(warm.ids, cold.ids);
      assert.ok(warm.cachedTokens <= 8 * SEGMENT_TOKENS, `${warm.cachedTokens}`);
      assert.equal((await answer(chat(next), recurrent)).cachedTokens, 8 * SEGMENT_TOKENS);
    }
    const sizes = files().map((file) => statSync(join(folder, String(file))).size);
    const states = files().filter((_, i) => sizes[i] === Math.min(...sizes));
    assert.ok(states.length >= 2 && states.length < all.length);
    for (const file of states) writeFileSync(join(folder, String(file)), 'broken');
    const warm = await answer(chat(next), recurrent);
    assert.equal(warm.cachedTokens, 0);
    assert.deepEqual(warm.ids, cold.ids);
  });

  test('stays within the limit, and is nothing where not even a state fits', async () => {
    const ids = toyPrompt(700, 9);
    const cold = await coldly(ids);
    for (const maxBytes of [300, 1000, 3000, 6000]) {
      const warm = async () => answer(chat(ids), { ...recurrent, maxBytes });
      assert.deepEqual((await warm()).ids, cold);
      assert.deepEqual((await warm()).ids, cold);
      const bytes = files().map((file) => statSync(join(folder, String(file))).size);
      assert.ok(bytes.reduce((sum, size) => sum + size, 0) <= maxBytes, `${bytes.join()}`);
    }
    assert.ok(files().length > 0);
  });

  test('is no other model’s, and nothing of what was to be forgotten', async () => {
    const ids = toyPrompt(700, 10);
    const { scheduler } = start(recurrent);
    await scheduler.generate(chat(ids));
    await scheduler.forgetUnwritten();
    await scheduler.close();
    assert.deepEqual(files(), []);
    await answer(chat(ids), recurrent);
    const other = await answer(chat(ids), { ...recurrent, fingerprint: 'other' });
    assert.equal(other.cachedTokens, 0);
  });

  test('takes no state from what runs', async () => {
    const texts = [11, 12, 13, 14].map((seed) => toyPrompt(640 + seed, seed));
    const colds = [];
    for (const ids of texts) colds.push(await answer(chat(ids), recurrent));
    const { scheduler, cache } = start({ numSlots: 2, numBlocks: 256 });
    const warms = await Promise.all(texts.map((ids) => scheduler.generate(chat(ids))));
    assert.deepEqual(
      warms.map(({ ids }) => ids),
      colds.map(({ ids }) => ids),
    );
    assert.ok(warms.some(({ cachedTokens }) => cachedTokens === 5 * SEGMENT_TOKENS));
    assert.equal(cache.numAvailable, cache.numBlocks);
    await scheduler.close();
    scheduler.checkIntegrity();
  });
});
