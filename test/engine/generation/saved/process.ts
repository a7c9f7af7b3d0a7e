import { join } from 'node:path';
import type { Backend } from '../../../../extension/engine/backend/backend';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { SEGMENT_TOKENS } from '../../../../extension/engine/cache/saved/segment_keys';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { openSavedCache } from '../../../../extension/engine/generation/saved/open_saved_cache';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { GREEDY, type GenerateResult } from '../../../../extension/engine/generation/types';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { FIXTURES } from '../../loading/model_fixture';
import { textless } from '../scheduler/toy_model';

export const VOCAB_SIZE = 192;
const CONTEXT = 1024;
const MAX_TOKENS = 128;
const MAX_ROWS = 4;

export interface ProcessOptions {
  /** A model of test/fixtures/families. */
  readonly name: string;
  readonly backend: Backend;
  readonly precision?: 'exact' | 'fast';
  /** Default 64; 0: nothing is kept. */
  readonly megabytes?: number;
}

/** What a process answers that lives no longer; the folder of ANLLM_CACHE outlives it. */
export async function answerOf(
  { name, backend, precision = 'exact', megabytes = 64 }: ProcessOptions,
  ids: readonly number[],
  maxTokens = 8,
): Promise<GenerateResult> {
  const model = openModel(join(FIXTURES, 'families', name));
  const program = fuse(buildProgram(model.config(), model.weights));
  const { kvBlockSize: blockSize, name: backendName, description } = backend;
  const stateSlots = (program.stateLayers ?? []).length > 0 ? 2 * MAX_ROWS : 0;
  const numBlocks = (2 * CONTEXT) / blockSize;
  const executable = await backend.compile(program, model.weights, {
    precision,
    kvBlocks: numBlocks,
    maxTokens: MAX_TOKENS,
    maxLogitRows: MAX_ROWS,
    ...(stateSlots > 0 && { stateSlots }),
    threads: 2,
  });
  const copy = (from: number, to: number) => executable.copyState?.(from, to);
  const states = { numSlots: stateSlots, copy, savedEvery: SEGMENT_TOKENS };
  const cache = new PagedCache({
    numBlocks,
    blockSize,
    contextLength: CONTEXT,
    ...(stateSlots > 0 && { states }),
  });
  const computation = {
    program,
    weights: model.weights,
    backend: backendName,
    backendDescription: description,
    precision,
    executable,
    switches: {},
  };
  const saved = openSavedCache(computation, cache, megabytes);
  model.close();
  const scheduler = new Scheduler({
    executable,
    cache,
    ...textless(VOCAB_SIZE),
    prefillStep: MAX_TOKENS,
    maxRows: MAX_ROWS,
    ...(saved && { saved }),
  });
  const request = { ids, maxTokens, sampling: GREEDY, stop: [], priority: 'chat' } as const;
  const result = await scheduler.generate(request);
  scheduler.checkIntegrity();
  await scheduler.close();
  executable.dispose();
  return result;
}
