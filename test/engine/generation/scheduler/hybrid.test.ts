/** Models with recurrent state: in batches, with snapshots, on real checkpoints. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Backend, Executable } from '../../../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../../../extension/engine/backend/native';
import { createReferenceBackend } from '../../../../extension/engine/backend/reference';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { readGolden } from '../../../../extension/engine/cli/verify';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { FIXTURES } from '../../loading/model_fixture';
import { textless } from './toy_model';

const VOCAB_SIZE = 192;
const CONTEXT = 256;
const MAX_TOKENS = 64;
const NUM_STATES = 6;
const MAX_ROWS = 4;

async function start(
  name: string,
  backend: Backend,
  maxLogitRows = MAX_ROWS,
): Promise<{ executable: Executable; cache: PagedCache; scheduler: Scheduler }> {
  const model = openModel(join(FIXTURES, 'families', name));
  const { kvBlockSize: blockSize } = backend;
  const numBlocks = (3 * CONTEXT) / blockSize;
  const executable = await backend.compile(
    fuse(buildProgram(model.config(), model.weights)),
    model.weights,
    {
      precision: 'exact',
      kvBlocks: numBlocks,
      maxTokens: MAX_TOKENS,
      maxLogitRows,
      stateSlots: NUM_STATES,
      threads: 2,
    },
  );
  model.close();
  const copy = (from: number, to: number) => executable.copyState?.(from, to);
  const cache = new PagedCache({
    numBlocks,
    blockSize,
    contextLength: CONTEXT,
    states: { numSlots: NUM_STATES, copy },
  });
  const scheduler = new Scheduler({
    executable,
    cache,
    ...textless(VOCAB_SIZE),
    prefillStep: MAX_TOKENS,
    maxRows: Math.min(maxLogitRows, MAX_ROWS),
    maxLogitRows,
  });
  return { executable, cache, scheduler };
}

const text = (seed: number, length: number) =>
  Array.from(
    { length },
    (_, i) => (Math.imul(seed * 977 + i + 1, 2_654_435_761) >>> 0) % VOCAB_SIZE,
  );

/** The reference takes seconds for what the addon does in milliseconds, so it has one model. */
const backendsFor = (name: string) =>
  name === 'qwen3.5' ? [createReferenceBackend(), loadNativeBackend()] : [loadNativeBackend()];

for (const name of ['qwen3-next', 'qwen3.5', 'qwen3.5-moe']) {
  for (const backend of backendsFor(name)) {
    describe(`${name} on ${backend.name}`, () => {
      let warm: Awaited<ReturnType<typeof start>>;
      let cold: Awaited<ReturnType<typeof start>>;
      before(async () => {
        warm = await start(name, backend);
        cold = await start(name, backend);
      });
      after(async () => {
        for (const { scheduler, executable } of [warm, cold]) {
          await scheduler.close();
          executable.dispose();
        }
      });

      const request = (ids: readonly number[], seed = 0) => ({
        ids,
        maxTokens: 10,
        sampling: { ...GREEDY, temperature: seed === 0 ? 0 : 1, seed },
        stop: [],
      });
      /** Without anything that another text could have left. */
      const coldly = async (ids: readonly number[], seed = 0) => {
        const { ids: answer, cachedTokens } = await cold.scheduler.generate(request(ids, seed));
        assert.equal(cachedTokens, 0);
        return answer;
      };

      test('golden prompts, all at once, give the golden tokens', async () => {
        const goldens = readGolden(join(FIXTURES, 'families', name), VOCAB_SIZE);
        const all = goldens.map(({ ids, greedy }) =>
          warm.scheduler.generate({ ...request(ids), maxTokens: greedy.length }),
        );
        assert.deepEqual(
          (await Promise.all(all)).map((result) => result.ids),
          goldens.map(({ greedy }) => greedy),
        );
        warm.scheduler.checkIntegrity();
      });

      test('batched is single, token for token', async () => {
        const texts = [1, 2, 3, 4, 5, 6].map((seed) => text(seed, 7 + 23 * seed));
        const together = await Promise.all(
          texts.map((ids, i) => warm.scheduler.generate(request(ids, i))),
        );
        for (const [i, ids] of texts.entries())
          assert.deepEqual(together[i]?.ids, await coldly(ids, i));
        warm.scheduler.checkIntegrity();
      });

      test('a text that goes on, and one that is asked again, go on from a kept state', async () => {
        const ids = text(11, 75);
        const first = await warm.scheduler.generate(request(ids));
        // The last token of an answer is not run.
        const next = [...ids, ...first.ids, 5, 6];
        const second = await warm.scheduler.generate(request(next));
        assert.equal(second.cachedTokens, ids.length + first.ids.length - 1);
        const again = await warm.scheduler.generate(request(ids));
        assert.ok(again.cachedTokens >= 64, `${again.cachedTokens}`);
        assert.deepEqual(again.ids, first.ids);
        const other = await start(name, backend);
        assert.deepEqual((await other.scheduler.generate(request(next))).ids, second.ids);
        other.executable.dispose();
        warm.scheduler.checkIntegrity();
      });

      test('the third text with a beginning in common goes on from its end', async () => {
        const common = text(21, 70);
        const ask = (end: number) =>
          warm.scheduler.generate(request([...common, ...text(end, 60)]));
        await ask(31);
        assert.equal((await ask(32)).cachedTokens, 0);
        const third = await ask(33);
        assert.equal(third.cachedTokens, 64);
        assert.deepEqual(third.ids, await coldly([...common, ...text(33, 60)]));
        warm.scheduler.checkIntegrity();
      });

      test('a prompt is scored many tokens a step, as it would be one by one', async () => {
        const [first = 0, ...forcedIds] = text(51, 90);
        const scored = { ...request([first]), forcedIds, maxTokens: 100, logprobs: 2 };
        const score = async (maxLogitRows: number) => {
          const { scheduler, executable } = await start(name, backend, maxLogitRows);
          const { ids, logprobs } = await scheduler.generate(scored);
          scheduler.checkIntegrity();
          const { steps } = scheduler.metrics();
          await scheduler.close();
          executable.dispose();
          return { steps, ids, logprobs };
        };
        const [chunks, single] = [await score(24), await score(1)];
        assert.ok(single.steps >= 100 && chunks.steps < 30, `${chunks.steps} steps`);
        assert.deepEqual([chunks.ids, chunks.logprobs], [single.ids, single.logprobs]);
      });

      test('a cancelled request leaves no state behind', async () => {
        const controller = new AbortController();
        const running = warm.scheduler.generate({
          ...request(text(41, 100)),
          maxTokens: 100,
          signal: controller.signal,
          onText: () => (controller.abort(), true),
        });
        const beside = warm.scheduler.generate(request(text(42, 50)));
        assert.equal((await running).finishReason, 'cancelled');
        assert.deepEqual((await beside).ids, await coldly(text(42, 50)));
        warm.scheduler.checkIntegrity();
      });
    });
  }
}
