import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { DraftModel } from '../../../../extension/engine/generation/speculate/draft_model';
import { GREEDY, type GenerateRequest } from '../../../../extension/engine/generation/types';
import {
  EOS,
  ToyModel,
  toyPrompt,
  toyTokenizer,
  VOCAB_SIZE,
  type ToyOptions,
} from '../scheduler/toy_model';

const BLOCK_SIZE = 16;
const MAX_TOKENS = 128;
const MAX_ROWS = 8;

function toy(extra: Partial<ToyOptions>) {
  const options = {
    numBlocks: 128,
    blockSize: BLOCK_SIZE,
    maxTokens: MAX_TOKENS,
    maxRows: MAX_ROWS,
    copies: true,
    stepMs: 10,
    rowMs: 0.2,
    ...extra,
  };
  const model = new ToyModel(options);
  const cache = new PagedCache({
    numBlocks: options.numBlocks,
    blockSize: BLOCK_SIZE,
    contextLength: 1024,
    copyBlocks: model.copyBlocks,
  });
  return { model, cache };
}

/** A scheduler, with a draft model that is ten times as fast unless `draft` says otherwise. */
function setUp(
  draft: Partial<ToyOptions> | null,
  target: Partial<ToyOptions> = {},
  warn: (message: string) => void = () => {},
) {
  const { model, cache } = toy(target);
  // One clock for both.
  const clock = { draft: toy({ stepMs: 1, rowMs: 0.02, ...draft }) };
  const now = () => model.clock + clock.draft.model.clock;
  const draftModel = new DraftModel({
    executable: clock.draft.model,
    cache: clock.draft.cache,
    maxTokens: MAX_TOKENS,
    maxRows: MAX_ROWS,
    vocabSize: VOCAB_SIZE,
    now,
  });
  const scheduler = new Scheduler({
    executable: model,
    cache,
    tokenizer: toyTokenizer,
    eosIds: [EOS],
    vocabSize: VOCAB_SIZE,
    prefillStep: MAX_TOKENS,
    maxRows: MAX_ROWS,
    ...(draft !== null && { draftModel }),
    warn,
    now,
  });
  model.onStep = () => scheduler.checkIntegrity();
  clock.draft.model.onStep = () => scheduler.checkIntegrity();
  return { scheduler, model, cache, draft: clock.draft, now };
}

const request = (
  ids: readonly number[],
  extra: Partial<GenerateRequest> = {},
): GenerateRequest => ({
  ids,
  maxTokens: 40,
  sampling: GREEDY,
  stop: [],
  ignoreEos: true,
  priority: 'chat',
  ...extra,
});
const sampled = (seed: number) => ({ ...GREEDY, temperature: 0.8, topP: 0.95, seed });

/** The answers, what they took, and that nothing is held at the end. */
async function run(requests: readonly GenerateRequest[], ...models: Parameters<typeof setUp>) {
  const { scheduler, model, cache, draft, now } = setUp(...models);
  const results = await Promise.all(requests.map((r) => scheduler.generate(r)));
  scheduler.checkIntegrity();
  assert.equal(cache.numAvailable, cache.numBlocks);
  assert.equal(draft.cache.numAvailable, draft.cache.numBlocks);
  const metrics = scheduler.metrics();
  await scheduler.close();
  return {
    answers: results.map(({ ids }) => ids),
    steps: model.numSteps,
    draftSteps: draft.model.numSteps,
    ms: now(),
    metrics,
  };
}

describe('a draft model', () => {
  for (const [name, sampling] of [
    ['greedy', () => GREEDY],
    ['sampled', sampled],
    ['penalized', (seed: number) => ({ ...sampled(seed), repetitionPenalty: 1.3 })],
  ] as const) {
    test(`${name} answers are token for token the same, whatever it guesses`, async () => {
      const requests = Array.from({ length: 12 }, (_, i) =>
        request(toyPrompt(5 + 23 * (i % 5), i % 7), { sampling: sampling(i) }),
      );
      const alone = await run(requests, null);
      for (const mistakes of [0, 20, 60, 100]) {
        const guessed = await run(requests, { mistakes });
        assert.deepEqual(guessed.answers, alone.answers, `${mistakes} mistakes`);
        if (mistakes < 100) assert.ok(guessed.metrics.acceptedTokens > 0, `${mistakes} mistakes`);
      }
    });
  }

  test('that is right makes an answer faster; several share its steps', async () => {
    const one = [request(toyPrompt(20, 1), { maxTokens: 60 })];
    const alone = await run(one, null);
    const guessed = await run(one, {});
    assert.ok(guessed.steps < 0.3 * alone.steps, `${guessed.steps} of ${alone.steps} steps`);
    assert.ok(guessed.ms < 0.6 * alone.ms, `${guessed.ms} of ${alone.ms} ms`);
    const many = [1, 2, 3].map((seed) => request(toyPrompt(20, seed), { maxTokens: 60 }));
    const together = await run(many, {});
    assert.ok(together.draftSteps < 2 * guessed.draftSteps);
    assert.ok(together.ms < 0.8 * (await run(many, null)).ms);
  });

  test('guesses a drawn token right as often as it would be drawn, since it draws with the same numbers', async () => {
    const { metrics } = await run(
      [request(toyPrompt(20, 4), { maxTokens: 60, sampling: sampled(3) })],
      {},
    );
    // A few guesses come from the text itself.
    assert.ok(metrics.acceptedTokens > 0.8 * metrics.draftedTokens);
    assert.ok(metrics.draftedTokens > 30);
  });

  test('that is wrong, or slow, costs little', async () => {
    const requests = [request(toyPrompt(20, 1), { maxTokens: 300 })];
    const alone = await run(requests, null);
    for (const draft of [{ mistakes: 100 }, { stepMs: 12 }]) {
      const guessed = await run(requests, draft);
      assert.deepEqual(guessed.answers, alone.answers);
      assert.ok(guessed.ms < 1.1 * alone.ms, `${guessed.ms} of ${alone.ms} ms`);
    }
  });

  test('reads a long prompt in slices beside the answer, and not at all for a short answer', async () => {
    const long = toyPrompt(700, 5);
    const rowMs = 0.1;
    const { metrics, answers } = await run([request(long, { maxTokens: 100 })], { rowMs });
    assert.ok(metrics.acceptedTokens > 20);
    assert.deepEqual(answers, (await run([request(long, { maxTokens: 100 })], null)).answers);
    const short = await run([request(long, { maxTokens: 3 })], { rowMs });
    assert.equal(short.draftSteps, 0);
  });

  test('that fails, or has no memory, or is told not to guess leaves the answers alone', async () => {
    const requests = [1, 2, 3].map((seed) => request(toyPrompt(60, seed)));
    const { answers } = await run(requests, null);
    assert.deepEqual((await run(requests, { numBlocks: 5 })).answers, answers);
    const warnings: string[] = [];
    const { scheduler, draft } = setUp({}, {}, (message) => warnings.push(message));
    draft.model.onStep = () => {
      throw new Error('broken');
    };
    const results = await Promise.all(requests.map((r) => scheduler.generate(r)));
    assert.deepEqual(
      results.map(({ ids }) => ids),
      answers,
    );
    assert.equal(draft.model.numSteps, 1);
    assert.match(warnings.join('\n'), /^the draft model guesses no more .*: broken$/);
    const told = await run(
      requests.map((r) => ({ ...r, drafts: false })),
      {},
    );
    assert.equal(told.draftSteps, 0);
  });

  test('leaves nothing behind when requests are aborted in its steps', async () => {
    const { scheduler, draft, cache } = setUp({});
    const aborts = Array.from({ length: 3 }, () => new AbortController());
    draft.model.onHalf = (_, step) => aborts[Math.floor(step / 4)]?.abort();
    const all = aborts.map(({ signal }, i) =>
      scheduler.generate(request(toyPrompt(20, i), { maxTokens: 200, signal })),
    );
    const reasons = (await Promise.all(all)).map(({ finishReason }) => finishReason);
    assert.ok(reasons.every((reason) => reason === 'cancelled'));
    scheduler.checkIntegrity();
    for (const { numAvailable, numBlocks } of [cache, draft.cache])
      assert.equal(numAvailable, numBlocks);
  });
});
