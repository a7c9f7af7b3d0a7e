import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PagedCache } from '../../../../extension/engine/cache/paged';
import { EngineError } from '../../../../extension/engine/errors';
import { MAX_WAITING, SLICE_MS } from '../../../../extension/engine/generation/scheduler/limits';
import { Scheduler } from '../../../../extension/engine/generation/scheduler/scheduler';
import { GREEDY, type GenerateRequest } from '../../../../extension/engine/generation/types';
import { EOS, ToyModel, toyPrompt, toyTokenizer, VOCAB_SIZE, type ToyOptions } from './toy_model';

const BLOCK_SIZE = 16;

function setUp({
  contextLength = 2048,
  numBlocks = 256,
  ...toy
}: Partial<ToyOptions> & { contextLength?: number } = {}) {
  const options = {
    numBlocks,
    blockSize: BLOCK_SIZE,
    maxTokens: 256,
    maxRows: 8,
    copies: true,
    ...toy,
  };
  const model = new ToyModel(options);
  const cache = new PagedCache({
    numBlocks,
    blockSize: BLOCK_SIZE,
    contextLength,
    copyBlocks: model.copyBlocks,
    ...(toy.states !== undefined && { states: { numSlots: toy.states, copy: model.copyState } }),
  });
  const scheduler = new Scheduler({
    executable: model,
    cache,
    tokenizer: toyTokenizer,
    eosIds: [EOS],
    vocabSize: VOCAB_SIZE,
    prefillStep: options.maxTokens,
    maxRows: options.maxRows,
    now: model.now,
  });
  model.onStep = () => scheduler.checkIntegrity();
  return { model, cache, scheduler };
}

function request(ids: readonly number[], extra: Partial<GenerateRequest> = {}): GenerateRequest {
  return { ids, maxTokens: 20, sampling: GREEDY, stop: [], ignoreEos: true, ...extra };
}

describe('scheduler: priorities', () => {
  test('a completion that arrives during the prefill of a chat has its first token after the next step', async () => {
    const { model, scheduler } = setUp();
    const chat = scheduler.generate(request(toyPrompt(1500, 1), { priority: 'chat' }));
    await new Promise((done) => {
      model.onHalf = (_, step) => {
        if (step === 4) done(scheduler.generate(request(toyPrompt(60, 2), { maxTokens: 1 })));
      };
    });
    assert.equal(model.numSteps, 5);
    await chat;
  });

  test('a long step of a chat is given up for a completion, and only for one', async () => {
    const { model, scheduler } = setUp();
    const chat = scheduler.generate(request(toyPrompt(1500, 1), { priority: 'chat' }));
    const waits: number[] = [];
    const others: Promise<unknown>[] = [];
    model.onHalf = (_, step) => {
      if (step < 4 || step > 12) return;
      const arrivedAt = model.clock;
      let isFirst = true;
      const onText = () => {
        if (isFirst) waits.push(model.clock - arrivedAt);
        return (isFirst = false);
      };
      others.push(scheduler.generate(request(toyPrompt(4, step), { onText })));
    };
    await chat;
    await Promise.all(others);
    assert.equal(scheduler.metrics().interruptedSteps, 1);
    // What is left of a slice, and the step of the completion itself beside at most another slice.
    for (const wait of waits) assert.ok(wait <= 2 * SLICE_MS + 3, `${wait} ms`);
  });

  test('steps in which a completion decodes stay short while a chat prefills', async () => {
    const { model, scheduler } = setUp();
    const completion = scheduler.generate(request(toyPrompt(30, 1), { maxTokens: 200 }));
    const chat = scheduler.generate(request(toyPrompt(1500, 2), { priority: 'chat' }));
    const lengths: number[] = [];
    model.onStep = (batch) => {
      if (scheduler.metrics().running === 2) lengths.push(batch.tokens.length);
    };
    await completion;
    assert.ok(scheduler.metrics().computedTokens > 230 + 30, 'the chat does not stand still');
    await chat;
    const longest = Math.max(...lengths.slice(2));
    assert.ok(1 + 0.4 * longest <= SLICE_MS + 1, `${longest} tokens`);
  });

  test('a slow chat whose steps are given up again and again goes on all the same', async () => {
    const { model, scheduler } = setUp({ rowMs: 20 });
    const chat = scheduler.generate(request(toyPrompt(300, 1), { priority: 'chat', maxTokens: 1 }));
    // A completion for every step that the chat has for itself.
    const completions: Promise<unknown>[] = [];
    model.onHalf = (_, step) => {
      if (step > 200 || scheduler.metrics().running > 1) return;
      completions.push(scheduler.generate(request(toyPrompt(4, step), { maxTokens: 1 })));
    };
    await chat;
    assert.ok(model.numSteps < 200, `${model.numSteps} steps`);
    assert.ok(scheduler.metrics().interruptedSteps > 5);
    await Promise.all(completions);
  });

  test('a full house of chats leaves the port a row now and then', async () => {
    const { model, scheduler } = setUp({ maxRows: 2, maxTokens: 32 });
    const port = scheduler.generate(request(toyPrompt(50, 3), { priority: 'port', maxTokens: 10 }));
    const chats = await new Promise<Promise<unknown>[]>((started) => {
      model.onHalf = (_, step) => {
        if (step !== 3) return;
        const ask = (seed: number) =>
          scheduler.generate(request(toyPrompt(20, seed), { priority: 'chat', maxTokens: 400 }));
        started([ask(1), ask(2)]);
      };
    });
    await port;
    assert.ok(model.numSteps < 350, `${model.numSteps} steps`);
    await Promise.all(chats);
  });

  test('no request of a priority overtakes another while rows are short', async () => {
    const { scheduler } = setUp({ maxRows: 2 });
    const order: number[] = [];
    const all = Array.from({ length: 12 }, (_, i) =>
      scheduler
        .generate(request(toyPrompt(40, i), { priority: 'port', maxTokens: 10 }))
        .then(() => order.push(i)),
    );
    await Promise.all(all);
    for (const [place, i] of order.entries())
      assert.ok(Math.abs(place - i) <= 1, `order ${order.join()}`);
  });

  test('a completion takes a row from a full house of chats, which all go on', async () => {
    const { model, scheduler } = setUp({ maxRows: 2 });
    const chats = [1, 2, 3].map((seed) =>
      scheduler.generate(request(toyPrompt(20, seed), { priority: 'chat', maxTokens: 60 })),
    );
    await Promise.resolve();
    let completion: Promise<unknown> | undefined;
    model.onHalf = (_, step) => {
      if (step === 10) completion = scheduler.generate(request(toyPrompt(10, 9), { maxTokens: 5 }));
    };
    await chats[0];
    await completion;
    const results = await Promise.all(chats);
    assert.deepEqual(
      results.map((r) => r.ids.length),
      [60, 60, 60],
    );
    assert.equal(scheduler.metrics().preemptions, 0);
  });

  test('when memory is short the least urgent gives up its blocks and goes on later', async () => {
    const { model, scheduler } = setUp({ numBlocks: 20 });
    const chat = scheduler.generate(
      request(toyPrompt(200, 1), { priority: 'chat', maxTokens: 40 }),
    );
    let chatDone = false;
    void chat.then(() => (chatDone = true));
    let completion: Promise<unknown> | undefined;
    model.onHalf = (_, step) => {
      if (step !== 20) return;
      completion = scheduler.generate(request(toyPrompt(150, 2))).then(() => assert.ok(!chatDone));
    };
    assert.equal((await chat).ids.length, 40);
    await completion;
    assert.equal(scheduler.metrics().preemptions, 1);
  });
});

describe('scheduler: drafts', () => {
  test('a text that repeats itself takes fewer steps than it has tokens, and stays the same', async () => {
    const text = request(toyPrompt(40, 1), { maxTokens: 400 });
    const drafting = setUp({ repeats: true, rowMs: 0.01 });
    const plain = setUp({ repeats: true, rowMs: 0.01 });
    const a = await drafting.scheduler.generate(text);
    const b = await plain.scheduler.generate({ ...text, drafts: false });
    assert.deepEqual(a.ids, b.ids);
    assert.ok(plain.model.numSteps >= 400);
    assert.ok(drafting.model.numSteps < 300, `${drafting.model.numSteps} steps`);
    const { draftedTokens, acceptedTokens } = drafting.scheduler.metrics();
    assert.ok(acceptedTokens > 100 && acceptedTokens < draftedTokens);
  });

  test('nothing is drafted where a row costs as much as a step', async () => {
    const { scheduler } = setUp({ repeats: true, stepMs: 0, rowMs: 1 });
    await scheduler.generate(request(toyPrompt(40, 1), { maxTokens: 200 }));
    assert.equal(scheduler.metrics().draftedTokens, 0);
  });
});

describe('scheduler: tokens that are given', () => {
  const [first = 0, ...forcedIds] = toyPrompt(120, 1);
  const scored = request([first], { forcedIds, logprobs: 2, maxTokens: forcedIds.length + 5 });
  for (const [kind, toy] of [
    ['', {}],
    [' of a model with recurrent state', { states: 4 }],
  ] as const) {
    test(`a prompt${kind} is scored many tokens a step, as it would be one by one`, async () => {
      const { model, scheduler } = setUp({ rowMs: 0.1, ...toy });
      const { logprobs, ids } = await scheduler.generate(scored);
      assert.ok(model.numSteps <= Math.ceil(forcedIds.length / 7) + 6, `${model.numSteps} steps`);
      assert.equal(scheduler.metrics().draftedTokens, 0);
      const single = setUp({ rowMs: 0.1, maxRows: 1, ...toy });
      const one = await single.scheduler.generate(scored);
      assert.ok(single.model.numSteps > forcedIds.length);
      assert.deepEqual([one.ids, one.logprobs], [ids, logprobs]);
    });
  }

  for (const [end, act] of [
    ['has enough', () => false],
    [
      'fails',
      () => {
        throw new Error('the reader broke');
      },
    ],
    ['cancels', (controller: AbortController) => (controller.abort(), true)],
  ] as const) {
    test(`a reader that ${end} in the middle leaves no state of tokens that it did not get`, async () => {
      const { scheduler, cache } = setUp({ rowMs: 0.1, states: 4 });
      for (let enough = 1; enough < 20; enough++) {
        const controller = new AbortController();
        let tokens = 0;
        const onText = (_: string, scores: readonly unknown[] = []) =>
          (tokens += scores.length) < enough || act(controller);
        const text = [enough, ...forcedIds];
        const { signal } = controller;
        await scheduler
          .generate({ ...scored, ids: [enough], onText, signal })
          .catch((error: unknown) => assert.match(String(error), /the reader broke/));
        scheduler.checkIntegrity();
        // The model itself fails when it is given a state that has seen another number of tokens.
        const after = request(text.slice(0, 60));
        const cold = setUp({ states: 4 }).scheduler.generate(after);
        assert.deepEqual((await scheduler.generate(after)).ids, (await cold).ids);
      }
      assert.equal(cache.numAvailable, cache.numBlocks);
    });
  }
});

describe('scheduler: cache', () => {
  test('typing on through an accepted completion computes only what was typed', async () => {
    const { scheduler } = setUp();
    const ids = toyPrompt(100, 1);
    const first = await scheduler.generate(request(ids));
    const typed = [...ids, ...first.ids, 3, 4, 5];
    // The last generated token was never run.
    assert.equal((await scheduler.generate(request(typed))).cachedTokens, 119);
    assert.equal((await scheduler.generate(request(typed))).cachedTokens, 122);
  });

  test('requests that arrive together share what the first of them computes', async () => {
    const { model, scheduler } = setUp();
    const ids = toyPrompt(320, 1);
    const all = [1, 2, 3, 4].map((seed) =>
      scheduler.generate(request(ids, { sampling: { ...GREEDY, temperature: 1, seed } })),
    );
    const results = await Promise.all(all);
    const { computedTokens } = scheduler.metrics();
    assert.ok(
      computedTokens < 600,
      `${computedTokens} tokens were computed in ${model.numSteps} steps`,
    );
    assert.equal(new Set(results.map((r) => r.ids.join())).size, 4);
  });
});

describe('scheduler: ends', () => {
  test('an abort of the only sequence in a step cancels the step; blocks are free at once', async () => {
    const { model, scheduler, cache } = setUp();
    const controller = new AbortController();
    let textAfter = false;
    model.onHalf = (_, step) => {
      if (step !== 3) return;
      controller.abort();
    };
    const onText = () => (controller.signal.aborted ? ((textAfter = true), true) : true);
    const result = await scheduler.generate(
      request(toyPrompt(800, 1), { signal: controller.signal, onText }),
    );
    assert.deepEqual([result.finishReason, result.ids, textAfter], ['cancelled', [], false]);
    assert.equal(scheduler.metrics().steps, 2);
    assert.equal(cache.numAvailable, cache.numBlocks);
  });

  test('an abort of one of several leaves at the end of the step', async () => {
    const { model, scheduler } = setUp();
    const controller = new AbortController();
    model.onHalf = (_, step) => step === 6 && controller.abort();
    const other = scheduler.generate(request(toyPrompt(20, 1)));
    const aborted = await scheduler.generate(
      request(toyPrompt(20, 2), { signal: controller.signal }),
    );
    assert.equal(aborted.finishReason, 'cancelled');
    assert.ok(aborted.ids.length > 0 && aborted.ids.length < 20);
    assert.equal(model.numSteps, 6);
    assert.equal((await other).ids.length, 20);
  });

  test('a request that is aborted while it waits never starts', async () => {
    const { model, scheduler } = setUp({ maxRows: 1 });
    const controller = new AbortController();
    const first = scheduler.generate(request(toyPrompt(10, 1)));
    const waiting = scheduler.generate(request(toyPrompt(300, 2), { signal: controller.signal }));
    model.onHalf = (_, step) => step === 3 && controller.abort();
    await assert.rejects(waiting, { code: 'cancelled' });
    await first;
    assert.equal(scheduler.metrics().computedTokens, 10 + 19);
    await assert.rejects(scheduler.generate(request([1], { signal: AbortSignal.abort() })), {
      code: 'cancelled',
    });
  });

  test('an abort from within onText ends the request once', async () => {
    const { scheduler } = setUp();
    const controller = new AbortController();
    let calls = 0;
    const onText = () => (calls++, controller.abort(), true);
    const result = await scheduler.generate(
      request(toyPrompt(20, 1), { signal: controller.signal, onText }),
    );
    assert.deepEqual([result.finishReason, calls], ['cancelled', 1]);
    scheduler.checkIntegrity();
  });

  test('a failed step fails its sequences with its error; those that wait are served', async () => {
    const { model, scheduler, cache } = setUp({ maxRows: 2 });
    const failure = new EngineError('internal', 'the device broke');
    const both = [1, 2].map((seed) => scheduler.generate(request(toyPrompt(20, seed))));
    const waiting = scheduler.generate(request(toyPrompt(20, 3)));
    model.onHalf = (_, step) => {
      if (step === 5) throw failure;
    };
    const settled = await Promise.allSettled(both);
    assert.ok(settled.every((s) => s.status === 'rejected' && s.reason === failure));
    assert.equal((await waiting).ids.length, 20);
    assert.equal(cache.numAvailable, cache.numBlocks);
  });

  test('an aborted request in a failing step ends as cancelled', async () => {
    const { model, scheduler } = setUp();
    const controller = new AbortController();
    const other = scheduler.generate(request(toyPrompt(20, 1)));
    const aborted = scheduler.generate(request(toyPrompt(20, 2), { signal: controller.signal }));
    model.onHalf = (_, step) => {
      if (step !== 5) return;
      controller.abort();
      throw new EngineError('internal', 'the device broke');
    };
    await assert.rejects(other, /the device broke/);
    assert.equal((await aborted).finishReason, 'cancelled');
  });

  test('an onText that throws ends its own request only', async () => {
    const { scheduler } = setUp();
    const other = scheduler.generate(request(toyPrompt(20, 1)));
    const onText = () => {
      throw new Error('the reader has gone');
    };
    await assert.rejects(
      scheduler.generate(request(toyPrompt(20, 2), { onText })),
      /the reader has gone/,
    );
    assert.equal((await other).ids.length, 20);
  });

  test('closing ends what runs as cancelled, refuses what waits and what comes later', async () => {
    const { model, scheduler, cache } = setUp({ maxRows: 1 });
    const running = scheduler.generate(request(toyPrompt(20, 1)));
    const waiting = assert.rejects(scheduler.generate(request(toyPrompt(20, 2))), {
      code: 'unavailable',
    });
    let closed: Promise<void> | undefined;
    model.onHalf = (_, step) => {
      if (step === 5) closed = scheduler.close();
    };
    assert.equal((await running).finishReason, 'cancelled');
    await closed;
    await waiting;
    await assert.rejects(scheduler.generate(request([1])), { code: 'unavailable' });
    assert.equal(cache.numAvailable, cache.numBlocks);
    await scheduler.close();
  });

  test('it rests when there is nothing to do and wakes for the next request', async () => {
    const { model, scheduler } = setUp();
    await scheduler.generate(request(toyPrompt(20, 1)));
    const { numSteps } = model;
    await sleep(5);
    assert.equal(model.numSteps, numSteps);
    assert.equal((await scheduler.generate(request(toyPrompt(20, 2)))).ids.length, 20);
  });
});

describe('scheduler: refusals', () => {
  test('what could never fit is refused at once, with the numbers', async () => {
    const { scheduler } = setUp({ numBlocks: 4 });
    await assert.rejects(scheduler.generate(request(toyPrompt(64, 1))), {
      code: 'bad_request',
      message: /64 tokens, the context holds 64/,
    });
    await assert.rejects(scheduler.generate(request([1, 2, 3, VOCAB_SIZE])), {
      code: 'bad_request',
      message: /prompt token 48: this model has tokens 0 to 47/,
    });
    assert.equal((await scheduler.generate(request(toyPrompt(63, 1)))).finishReason, 'length');
  });

  test('parameters that no backend draws with are refused at once, and harm nobody', async () => {
    const { scheduler } = setUp();
    const beside = scheduler.generate(request([1, 2, 3]));
    const wrong = [
      { seed: 2 ** 53 },
      { seed: 0.5 },
      { temperature: -1 },
      { temperature: NaN },
      { topK: -1 },
      { topP: 1.1 },
      { minP: -0.1 },
    ];
    for (const change of wrong) {
      const sampling = { ...GREEDY, ...change };
      await assert.rejects(scheduler.generate({ ...request([4, 5]), sampling }), {
        code: 'bad_request',
        message: new RegExp(`^${Object.keys(change).join()} .*: expected`),
      });
    }
    assert.equal((await beside).finishReason, 'length');
  });

  test('a grammar that turns out to be too much ends its own answer alone', async () => {
    const { scheduler } = setUp();
    const message = 'grammar: too many ways to go on';
    const tooMuch = () => {
      throw new EngineError('bad_request', message);
    };
    const constraint = {
      isComplete: false,
      mask: tooMuch,
      allowedAfter: tooMuch,
      accept: () => undefined,
    };
    const [beside, refused] = await Promise.allSettled([
      scheduler.generate(request([1, 2, 3])),
      scheduler.generate(request([4, 5, 6], { constraint })),
    ]);
    assert.equal(refused.status === 'rejected' && (refused.reason as Error).message, message);
    assert.equal(beside.status, 'fulfilled');
    scheduler.checkIntegrity();
  });

  test('a full queue refuses with what to do, other priorities still come in', async () => {
    const { scheduler } = setUp({ maxRows: 1 });
    const results = Array.from({ length: MAX_WAITING.port + 1 }, (_, i) =>
      scheduler.generate(request([i % 40], { priority: 'port', maxTokens: 1 })),
    );
    await assert.rejects(results.at(-1) ?? Promise.resolve(), {
      code: 'unavailable',
      message: `${MAX_WAITING.port} requests of priority port wait already; try again when some of them have ended`,
    });
    assert.equal((await scheduler.generate(request([1], { maxTokens: 1 }))).ids.length, 1);
    await Promise.all(results.slice(0, -1));
  });
});

test('the metrics add up', async () => {
  const { model, scheduler } = setUp();
  let during = scheduler.metrics();
  model.onHalf = (_, step) => step === 3 && (during = scheduler.metrics());
  await Promise.all([1, 2].map((seed) => scheduler.generate(request(toyPrompt(32, seed)))));
  await assert.rejects(scheduler.generate(request([1], { onText: () => assert.fail('unread') })));
  assert.deepEqual([during.running, during.waiting], [2, 0]);
  const after = scheduler.metrics();
  assert.deepEqual(
    [after.requests, after.reachedLength, after.failed, after.running, after.waiting],
    [3, 2, 1, 0, 0],
  );
  assert.equal(after.freeBlocks + after.cachedBlocks, after.blocks);
  assert.deepEqual(
    [after.promptTokens, after.generatedTokens, after.computedTokens],
    [64, 40, 64 + 38 + 1],
  );
});
