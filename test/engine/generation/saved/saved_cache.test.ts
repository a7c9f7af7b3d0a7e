import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
function start({ fingerprint = 'toy', numBlocks = 128, idleMs = 1_000_000, copies = true } = {}) {
  const options = { numBlocks, blockSize: BLOCK_SIZE, maxTokens: 256, maxRows: 8, copies };
  const model = new ToyModel(options);
  const { copyBlocks } = model;
  const cache = new PagedCache({
    numBlocks,
    blockSize: BLOCK_SIZE,
    contextLength: 2048,
    copyBlocks,
  });
  const saved = new SavedCache({
    store: model.blockStore,
    cache,
    folder: new SegmentFolder({ folder, maxBytes: 2 ** 24 }),
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
