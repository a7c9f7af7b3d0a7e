/**
 * Random sessions of several requests on a toy model, each answer compared with the one that the same request gets
 * alone, cold, from the simple generator.
 */
import assert from 'node:assert/strict';
import { DenseCache } from '../dense_cache';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import type { StateOptions } from '../../../../extension/engine/cache/states';
import { EngineError } from '../../../../extension/engine/errors';
import { ColdGenerator } from '../cold_generator';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import type {
  GenerateRequest,
  GenerateResult,
} from '../../../../extension/engine/generation/types';
import { edit, randomRequest, randomTokens } from './edits';
import { Random } from './random';
import { EOS, ToyModel, toyTokenizer, VOCAB_SIZE } from './toy_model';

export interface SessionOptions {
  /** Each starts up to six requests and ends when all of them have ended. */
  readonly rounds: number;
  /** Chance that a request is aborted, and that a step fails. */
  readonly abortChance: number;
  readonly failChance: number;
}

/** What sessions have put to the test; the sums show that they do what they are for. */
export type SessionCounts = Record<
  | 'requests'
  | 'steps'
  | 'hits'
  | 'batchedSteps'
  | 'preemptions'
  | 'evictedBlocks'
  | 'interruptedSteps'
  | 'drafted'
  | 'accepted'
  | 'cancelled'
  | 'failed'
  | 'recurrentHits',
  number
>;

export function noCounts(): SessionCounts {
  return {
    requests: 0,
    steps: 0,
    hits: 0,
    batchedSteps: 0,
    preemptions: 0,
    evictedBlocks: 0,
    interruptedSteps: 0,
    drafted: 0,
    accepted: 0,
    cancelled: 0,
    failed: 0,
    recurrentHits: 0,
  };
}

const FAILURE = new EngineError('internal', 'the toy broke');
const NUM_DOCUMENTS = 4;

/** One session; throws when an answer, a block or an outcome is wrong. */
export async function runSession(
  seed: number,
  options: SessionOptions,
  counts: SessionCounts,
): Promise<void> {
  await new Session(new Random(seed), options, counts, seed % 3 === 0, seed % 4 === 1).run();
}

interface Running {
  /** As the cold run gets it: nobody aborts that. */
  readonly request: GenerateRequest;
  readonly outcome: Promise<PromiseSettledResult<GenerateResult>>;
}

class Session {
  private readonly blockSize: number;
  private readonly repeats: boolean;
  private readonly model: ToyModel;
  private readonly cache: PagedCache;
  private readonly scheduler: Scheduler;
  private readonly documents: number[][];
  private running: Running[] = [];
  /** What happens at a later step: an arrival or an abort. */
  private agenda: { readonly at: number; readonly act: () => void }[] = [];

  constructor(
    private readonly random: Random,
    private readonly options: SessionOptions,
    private readonly counts: SessionCounts,
    collides: boolean,
    private readonly isRecurrent: boolean,
  ) {
    const blockSize = random.pick([2, 4, 8, 16]);
    const contextLength = random.int(30, 110);
    const numBlocks = Math.ceil((contextLength / blockSize) * random.pick([0.7, 1, 1.5, 3]));
    const maxRows = random.int(1, 6);
    const maxTokens = random.int(maxRows + 1, 64);
    const rowMs = random.pick([0.05, 0.4, 3]);
    const copies = random.chance(0.5);
    const repeats = random.chance(0.5);
    const states = isRecurrent ? maxRows + random.int(0, 5) : 0;
    this.blockSize = blockSize;
    this.repeats = repeats;
    const model = { numBlocks, blockSize, maxTokens, maxRows, copies, rowMs, repeats, states };
    this.model = new ToyModel(model);
    this.cache = new PagedCache({
      numBlocks,
      blockSize,
      contextLength,
      copyBlocks: this.model.copyBlocks,
      ...(isRecurrent && { states: this.stateOptions(states) }),
      ...(collides ? { hash: (parent, tokens) => (parent + (tokens[0] ?? 0)) % 5 } : {}),
    });
    this.scheduler = new Scheduler({
      executable: this.model,
      cache: this.cache,
      tokenizer: toyTokenizer,
      eosIds: [EOS],
      vocabSize: VOCAB_SIZE,
      prefillStep: maxTokens,
      maxRows,
      now: this.model.now,
    });
    this.documents = [randomTokens(random, random.int(1, this.cache.contextLength - 1))];
  }

  private stateOptions(numSlots: number): StateOptions {
    const savedEvery = this.blockSize * this.random.int(1, 4);
    return { numSlots, copy: this.model.copyState, savedEvery };
  }

  async run(): Promise<void> {
    const { model, scheduler, cache, counts, random, options } = this;
    model.onStep = ({ offsets }) => {
      scheduler.checkIntegrity();
      if (offsets.length > 2) counts.batchedSteps++;
      if (random.chance(options.failChance)) throw FAILURE;
    };
    model.onHalf = (_, step) => this.runAgenda(step);
    for (let round = 0; round < options.rounds; round++) {
      await this.runRound();
      scheduler.checkIntegrity();
      assert.equal(cache.numAvailable, cache.numBlocks, 'blocks are held when nothing runs');
    }
    const metrics = scheduler.metrics();
    counts.steps += metrics.steps;
    counts.hits += metrics.hitTokens;
    if (this.isRecurrent) counts.recurrentHits += metrics.hitTokens;
    counts.preemptions += metrics.preemptions;
    counts.evictedBlocks += metrics.evictedBlocks;
    counts.interruptedSteps += metrics.interruptedSteps;
    counts.drafted += metrics.draftedTokens;
    counts.accepted += metrics.acceptedTokens;
    await scheduler.close();
  }

  private async runRound(): Promise<void> {
    const { random, model } = this;
    this.running = [];
    for (let left = random.int(2, 6); left > 0; left--) {
      if (this.running.length === 0 || random.chance(0.6)) this.begin();
      else this.agenda.push({ at: model.numSteps + random.int(1, 12), act: () => this.begin() });
    }
    // Late ones come while others run, so the list grows on the way.
    for (let i = 0; i < this.running.length; i++) {
      const item = this.running[i];
      if (item !== undefined) await this.check(item);
      if (i === this.running.length - 1) this.runAgenda(Infinity);
    }
  }

  private runAgenda(step: number): void {
    const due = this.agenda.filter(({ at }) => at <= step);
    this.agenda = this.agenda.filter(({ at }) => at > step);
    for (const { act } of due) act();
  }

  private begin(): void {
    const { random, options, model } = this;
    const base = this.documents[random.int(0, this.documents.length - 1)] ?? [];
    const ids = edit(random, base, this.cache.contextLength - 1);
    const request = randomRequest(random, ids);
    const enough = random.chance(0.1) ? random.int(1, 10) : Infinity;
    const controller = new AbortController();
    if (random.chance(options.abortChance)) {
      this.agenda.push({ at: model.numSteps + random.int(0, 20), act: () => controller.abort() });
    }
    let isOver = false;
    const read = reader(enough);
    const onText = (delta: string) => {
      assert.ok(!isOver, 'text after the end');
      return read(delta);
    };
    const result = this.scheduler.generate({ ...request, signal: controller.signal, onText });
    const outcome = Promise.allSettled([result]).then(([settled]) => {
      isOver = true;
      return settled;
    });
    this.running.push({ request: { ...request, onText: reader(enough) }, outcome });
  }

  private async check({ request, outcome }: Running): Promise<void> {
    this.counts.requests++;
    const settled = await outcome;
    if (settled.status === 'rejected') {
      const error: unknown = settled.reason;
      if (error === FAILURE) this.counts.failed++;
      else if (error instanceof EngineError && error.code === 'cancelled') this.counts.cancelled++;
      else throw error;
      return;
    }
    const { ids, finishReason } = settled.value;
    const expected = await this.answerCold(request);
    if (finishReason === 'cancelled') {
      this.counts.cancelled++;
      assert.deepEqual(ids, expected.ids.slice(0, ids.length));
    } else {
      assert.deepEqual(essence(settled.value), essence(expected));
    }
    this.documents.push([...request.ids, ...ids].slice(0, this.cache.contextLength - 1));
    if (this.documents.length > NUM_DOCUMENTS) this.documents.shift();
  }

  /** Alone, on a fresh model, by the simple generator. */
  private answerCold(request: GenerateRequest): Promise<GenerateResult> {
    const { blockSize, repeats, isRecurrent } = this;
    const { contextLength } = this.cache;
    const numBlocks = Math.ceil(contextLength / blockSize);
    const generator = new ColdGenerator({
      executable: new ToyModel({ numBlocks, blockSize, repeats, states: +isRecurrent }),
      cache: new DenseCache(1, contextLength, blockSize, isRecurrent),
      tokenizer: toyTokenizer,
      eosIds: [EOS],
      vocabSize: VOCAB_SIZE,
      prefillStep: 64,
    });
    return generator.generate(request);
  }
}

/** An onText that has enough after so many characters. */
function reader(enough: number): (delta: string) => boolean {
  let length = 0;
  return (delta) => (length += delta.length) < enough;
}

/** What must not depend on how an answer was computed. */
export function essence(result: GenerateResult): Partial<GenerateResult> {
  const { ids, text, finishReason, logprobs } = result;
  return { ids, text, finishReason, ...(logprobs && { logprobs }) };
}
