/**
 * Random edit scripts on the built-in model: texts that grow out of each other, several requests at once, in a pool that
 * is too small for all. Each answer is compared with the one that the same request gets alone and cold.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Executable, StepBatch } from '../../../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../../../extension/engine/backend/native';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import type { Program } from '../../../../extension/engine/core/program';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import type { GenerateRequest } from '../../../../extension/engine/generation/types';
import { embeddedModel } from '../../../../extension/engine/loading/model_dir';
import { openModel } from '../../../../extension/engine/loading/open_model';
import type { Tokenizer } from '../../../../extension/engine/loading/tokenizer';
import { ColdGenerator } from '../cold_generator';
import { DenseCache } from '../dense_cache';
import { edit, randomRequest } from './edits';
import { Random } from './random';
import { essence } from './session';

const ROUNDS = 3;
const MAX_AT_ONCE = 3;
const NUM_DOCUMENTS = 4;
const CONTEXT = 224;
const MAX_TOKENS = 96;
const MAX_ROWS = 4;
/** Blocks of the pool for each block of one context: less than the requests at once may need. */
const POOL_CONTEXTS = 2;

/** What scripts have put to the test. */
export interface EditCounts {
  answers: number;
  hitTokens: number;
  batchedSteps: number;
  evictedBlocks: number;
  acceptedTokens: number;
}

export function noEditCounts(): EditCounts {
  return { answers: 0, hitTokens: 0, batchedSteps: 0, evictedBlocks: 0, acceptedTokens: 0 };
}

/** Texts of code that the scripts begin with and take new parts from, as tokens. */
function corpus(): readonly number[][] {
  const file = join(__dirname, '../../../fixtures/sprout-golden.json');
  const { prompts } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly prompts: readonly { readonly ids: number[]; readonly greedy: number[] }[];
  };
  return prompts.map(({ ids, greedy }) => [...ids, ...greedy]);
}

/** The model twice: for the scheduler, and for the cold runs. */
export class SproutEdits {
  private readonly corpus = corpus();

  private constructor(
    private readonly program: Program,
    private readonly tokenizer: Tokenizer,
    private readonly eosIds: readonly number[],
    private readonly blockSize: number,
    private readonly warm: Executable,
    private readonly cold: Executable,
  ) {}

  static async start(): Promise<SproutEdits> {
    const model = openModel(embeddedModel());
    try {
      const backend = loadNativeBackend();
      const program = fuse(buildProgram(model.config(), model.weights));
      const options = {
        precision: 'fast',
        kvBlocks: Math.ceil(CONTEXT / backend.kvBlockSize) * POOL_CONTEXTS,
        maxTokens: MAX_TOKENS,
        maxLogitRows: MAX_ROWS,
        threads: 2,
        activationBits: { attention: 8, others: 8 },
      } as const;
      const warm = await backend.compile(program, model.weights, options);
      const cold = await backend.compile(program, model.weights, options);
      const tokenizer = model.tokenizer();
      const { eosIds } = model.generationConfig(tokenizer);
      return new SproutEdits(program, tokenizer, eosIds, backend.kvBlockSize, warm, cold);
    } finally {
      model.close();
    }
  }

  dispose(): void {
    this.warm.dispose();
    this.cold.dispose();
  }

  /** Throws, with the script's seed, when an answer or a block is wrong. */
  async run(seed: number, counts: EditCounts): Promise<void> {
    try {
      await this.script(new Random(seed), counts);
    } catch (cause) {
      throw new Error(`the edit script with seed ${seed} went wrong`, { cause });
    }
  }

  private async script(random: Random, counts: EditCounts): Promise<void> {
    const { scheduler, cache } = this.freshScheduler(({ offsets }) => {
      if (offsets.length > 2) counts.batchedSteps++;
    });
    const documents = [this.write(random, random.int(20, CONTEXT / 2))];
    for (let round = 0; round < ROUNDS; round++) {
      const requests = Array.from({ length: random.int(1, MAX_AT_ONCE) }, () => {
        const base = documents[random.int(0, documents.length - 1)] ?? [];
        const ids = edit(random, base, CONTEXT - 1, (length) => this.write(random, length));
        return randomRequest(random, ids);
      });
      const answers = await Promise.all(requests.map((request) => scheduler.generate(request)));
      scheduler.checkIntegrity();
      assert.equal(cache.numAvailable, cache.numBlocks, 'blocks are held when nothing runs');
      for (const [i, request] of requests.entries()) {
        const answer = answers[i];
        assert.ok(answer !== undefined);
        assert.deepEqual(essence(answer), essence(await this.answerCold(request)));
        documents.push([...request.ids, ...answer.ids].slice(0, CONTEXT - 1));
        if (documents.length > NUM_DOCUMENTS) documents.shift();
        counts.answers++;
      }
    }
    const { hitTokens, evictedBlocks, acceptedTokens } = scheduler.metrics();
    counts.hitTokens += hitTokens;
    counts.evictedBlocks += evictedBlocks;
    counts.acceptedTokens += acceptedTokens;
    await scheduler.close();
  }

  /** A piece of the corpus. */
  private write(random: Random, length: number): number[] {
    const text = this.corpus[random.int(0, this.corpus.length - 1)] ?? [];
    const start = random.int(0, Math.max(0, text.length - length));
    return text.slice(start, start + length);
  }

  private get parts() {
    const { tokenizer, eosIds, program } = this;
    const vocabSize = Math.min(program.vocabSize, tokenizer.vocabSize);
    return { tokenizer, eosIds, vocabSize, prefillStep: MAX_TOKENS };
  }

  private freshScheduler(onStep: (batch: StepBatch) => void): {
    scheduler: Scheduler;
    cache: PagedCache;
  } {
    const { warm, blockSize } = this;
    const executable: Executable = {
      bytesPerToken: warm.bytesPerToken,
      threads: warm.threads,
      step: (batch) => (onStep(batch), warm.step(batch)),
      stepDrawn: async (batch, draws, columns) => {
        onStep(batch);
        const drawn = await warm.stepDrawn?.(batch, draws, columns);
        assert.ok(drawn !== undefined);
        return drawn;
      },
      cancel: () => warm.cancel(),
      dispose: () => {},
    };
    const cache = new PagedCache({
      numBlocks: Math.ceil(CONTEXT / blockSize) * POOL_CONTEXTS,
      blockSize,
      contextLength: CONTEXT,
      copyBlocks: (pairs) => warm.copyBlocks?.(pairs),
    });
    const scheduler = new Scheduler({
      ...this.parts,
      executable,
      cache,
      maxRows: MAX_ROWS,
    });
    return { scheduler, cache };
  }

  /** By the simple generator, with nothing in its cache. */
  private answerCold(request: GenerateRequest) {
    const cache = new DenseCache(1, CONTEXT, this.blockSize);
    return new ColdGenerator({ ...this.parts, executable: this.cold, cache }).generate(request);
  }
}
