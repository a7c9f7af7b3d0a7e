import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Executable } from '../../../../extension/engine/backend/backend';
import { createReferenceBackend } from '../../../../extension/engine/backend/reference/index';
import { DenseCache } from '../dense_cache';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { readGolden } from '../../../../extension/engine/cli/verify';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { ColdGenerator } from '../cold_generator';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { GREEDY, type GenerateRequest } from '../../../../extension/engine/generation/types';
import { openCheckpoint } from '../../../../extension/engine/loading/checkpoint';
import { readModelConfig } from '../../../../extension/engine/loading/config';
import { textless } from './toy_model';

const DIR = fileURLToPath(new URL('../../../fixtures/conformance/qwen3', import.meta.url));
const VOCAB_SIZE = 320;
const CONTEXT = 256;
const MAX_TOKENS = 64;
const MAX_ROWS = 4;

/** A fresh executable with room for `numBlocks`. */
async function compile(numBlocks: number): Promise<Executable> {
  const store = openCheckpoint(DIR);
  try {
    return await createReferenceBackend().compile(
      fuse(buildProgram(readModelConfig(DIR), store)),
      store,
      {
        precision: 'exact',
        kvBlocks: numBlocks,
        maxTokens: MAX_TOKENS,
        maxLogitRows: MAX_ROWS,
        threads: 1,
      },
    );
  } finally {
    store.close();
  }
}

const parts = {
  ...textless(VOCAB_SIZE),
  prefillStep: MAX_TOKENS,
};
const { kvBlockSize } = createReferenceBackend();
const goldens = readGolden(DIR, VOCAB_SIZE);

function request(ids: readonly number[], extra: Partial<GenerateRequest> = {}): GenerateRequest {
  return { ids, maxTokens: 12, sampling: GREEDY, stop: [], ...extra };
}

describe('scheduler on the reference backend', () => {
  let executable: Executable;
  let scheduler: Scheduler;
  let cold: ColdGenerator;

  before(async () => {
    const numBlocks = CONTEXT / kvBlockSize;
    executable = await compile(numBlocks);
    const copyBlocks = (pairs: Int32Array) => executable.copyBlocks?.(pairs);
    const cache = new PagedCache({
      numBlocks,
      blockSize: kvBlockSize,
      contextLength: CONTEXT,
      copyBlocks,
    });
    scheduler = new Scheduler({ ...parts, executable, cache, maxRows: MAX_ROWS });
    cold = new ColdGenerator({
      ...parts,
      executable: await compile(numBlocks),
      cache: new DenseCache(1, CONTEXT, kvBlockSize),
    });
  });

  test('golden prompts, all at once, give the golden tokens', async () => {
    const all = goldens.map(({ ids, greedy }) =>
      scheduler.generate(request(ids, { maxTokens: greedy.length })),
    );
    const results = await Promise.all(all);
    assert.deepEqual(
      results.map((r) => r.ids),
      goldens.map((g) => g.greedy),
    );
    scheduler.checkIntegrity();
  });

  test('edits of a text, sampled and in a batch, equal cold answers', async () => {
    const [text = []] = goldens.map((g) => g.ids);
    const edits = [
      [...text, 7, 8, 9],
      text.slice(0, 9),
      [...text.slice(0, 5), 100, 101, ...text.slice(5)],
      [...text, ...text],
    ];
    const sampling = { ...GREEDY, temperature: 0.9, seed: 5 };
    const requests = edits.map((ids, i) => request(ids, { sampling: { ...sampling, seed: i } }));
    const results = await Promise.all(
      requests.map((r) => scheduler.generate({ ...r, priority: 'chat' })),
    );
    for (const [i, r] of requests.entries()) {
      // A text that shares nothing with the next one empties the slot of the simple generator.
      await cold.generate(request([319, i]));
      assert.deepEqual(results[i]?.ids, (await cold.generate(r)).ids);
    }
    assert.ok(scheduler.metrics().hitTokens > text.length);
    scheduler.checkIntegrity();
  });
});
