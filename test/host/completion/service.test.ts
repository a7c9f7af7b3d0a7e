import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Debounce } from '../../../extension/host/completion/debounce';
import type { Decision } from '../../../extension/host/completion/decisions';
import {
  CompletionService,
  EARLY_MS,
  type AskOptions,
} from '../../../extension/host/completion/service';
import type { CompletionRequest, CompletionResult } from '../../../extension/protocol/completion';
import { ProtocolError } from '../../../extension/protocol/errors';
import { snapshotAt } from './documents';

const RESULT: CompletionResult = {
  text: '',
  replaceAfter: 0,
  reason: null,
  stop: 'model',
  promptTokens: 10,
  cachedTokens: 5,
  generatedTokens: 3,
  timings: { queueMs: 0, prefillMs: 1, decodeMs: 1, totalMs: 2 },
};

/** One request that the fake engine holds, to be answered by the test. */
interface Held {
  readonly request: CompletionRequest;
  readonly signal: AbortSignal;
  stream(text: string, replaceAfter?: number): void;
  finish(result: Partial<CompletionResult>): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Lets everything that is ready run. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

class Lab {
  readonly held: Held[] = [];
  readonly decisions: Decision[] = [];
  readonly service: CompletionService;

  constructor(debounceMs: number | null = 0) {
    this.service = new CompletionService({
      ask: (request, options) => this.ask(request, options),
      debounce: new Debounce(),
      settings: () => ({ multiline: 'auto', maxTokens: 64, debounceMs }),
      record: (decision) => this.decisions.push(decision),
    });
  }

  /** Types: the editor takes the older question back when it asks a newer one. */
  private question = new AbortController();
  async type(document: string, invoked = false): Promise<{ answer: Promise<string | null> }> {
    this.question.abort();
    this.question = new AbortController();
    const { signal } = this.question;
    const suggestion = this.service.suggest(snapshotAt(document), invoked, signal);
    await settle();
    return { answer: suggestion.then((s) => s?.offer.text ?? null) };
  }

  takeBack(): Promise<void> {
    this.question.abort();
    return settle();
  }

  last(): Held {
    const held = this.held.at(-1);
    assert(held, 'a request was sent');
    return held;
  }

  private ask(
    request: CompletionRequest,
    { signal, onPartial }: AskOptions,
  ): Promise<CompletionResult> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => resolve({ ...RESULT, reason: 'cancelled' }));
      this.held.push({
        request,
        signal,
        stream: (text, replaceAfter = 0) => onPartial({ text, replaceAfter }),
        finish: (result) => {
          resolve({ ...RESULT, ...result });
          return settle();
        },
        fail: (error) => {
          reject(error);
          return settle();
        },
      });
    });
  }
}

describe('completion service', () => {
  it('asks the engine and shows its answer', async () => {
    const lab = new Lab();
    const { answer } = await lab.type('con▮\n');
    assert.equal(lab.last().request.prefix, 'con');
    assert.equal(lab.service.counters.pending, 1);
    await lab.last().finish({ text: 'st' });
    assert.equal(await answer, 'st');
    assert.deepEqual(lab.service.counters, {
      requests: 1,
      cacheHits: 0,
      reused: 0,
      cancelled: 0,
      accepted: 0,
      pending: 0,
    });
  });

  it('sends no request while a suggestion is typed through', async () => {
    const lab = new Lab(1000);
    const { answer } = await lab.type('con▮\n', true);
    await lab.last().finish({ text: 'st x = 1;' });
    await answer;
    for (const typed of ['s', 'st', 'st ', 'st x', 'st']) {
      const next = await lab.type(`con${typed}▮\n`);
      assert.equal(await next.answer, 'st x = 1;'.slice(typed.length));
    }
    assert.equal(lab.service.counters.requests, 1);
    assert.equal(lab.service.counters.cacheHits, 5);
  });

  it('sends no request where the model had nothing to say, unless asked', async () => {
    const lab = new Lab();
    await lab.type('a▮\n');
    await lab.last().finish({ reason: 'model_silent' });
    assert.equal(await (await lab.type('a▮\n')).answer, null);
    assert.equal(lab.held.length, 1);
    await lab.type('a▮\n', true);
    assert.equal(lab.held.length, 2);
  });

  it('keeps a running request that the typing agrees with', async () => {
    const lab = new Lab();
    await lab.type('con▮\n');
    lab.last().stream('st x');
    const { answer } = await lab.type('cons▮\n');
    assert.equal(lab.held.length, 1);
    assert.equal(lab.last().signal.aborted, false);
    await lab.last().finish({ text: 'st x = 1;' });
    assert.equal(await answer, 't x = 1;');
    assert.equal(lab.service.counters.reused, 1);
  });

  it('keeps a running request that has said nothing yet', async () => {
    const lab = new Lab();
    await lab.type('con▮\n');
    const { answer } = await lab.type('cons▮\n');
    assert.equal(lab.held.length, 1);
    lab.last().stream('st');
    await lab.last().finish({ text: 'st y' });
    assert.equal(await answer, 't y');
  });

  it('drops it as soon as its text disagrees, and asks anew', async () => {
    const lab = new Lab();
    await lab.type('con▮\n');
    const { answer } = await lab.type('conx▮\n');
    const [old] = lab.held;
    old?.stream('st');
    await settle();
    assert.equal(old?.signal.aborted, true);
    assert.equal(lab.held.length, 2);
    assert.equal(lab.last().request.prefix, 'conx');
    await lab.last().finish({ text: 'y' });
    assert.equal(await answer, 'y');
  });

  it('drops it at once when the cursor is elsewhere', async () => {
    const lab = new Lab();
    await lab.type('con▮\nb\n');
    await lab.type('con\nb▮\n');
    assert.equal(lab.held[0]?.signal.aborted, true);
    assert.equal(lab.held.length, 2);
  });

  it('asks anew when the answer is shorter than what was typed', async () => {
    const lab = new Lab();
    await lab.type('con▮\n');
    const { answer } = await lab.type('const▮\n');
    await lab.last().finish({ text: 'st' });
    assert.equal(lab.held.length, 2);
    await lab.last().finish({ text: ' x' });
    assert.equal(await answer, ' x');
  });

  it('cancels a request that nobody waits for any more', async () => {
    const lab = new Lab();
    const { answer } = await lab.type('con▮\n');
    await lab.takeBack();
    assert.equal(await answer, null);
    assert.equal(lab.last().signal.aborted, false, 'the next keystroke may want it');
    await new Promise((resolve) => lab.last().signal.addEventListener('abort', resolve));
  });

  it('does not ask while it waits for the typing to pause', async () => {
    const lab = new Lab(10_000);
    for (const document of ['a▮', 'ab▮', 'abc▮']) await lab.type(document);
    assert.equal(lab.held.length, 0);
    await lab.type('abcd▮', true);
    assert.equal(lab.held.length, 1, 'what is asked for does not wait');
  });

  it('shows whole lines of a long answer early, and the rest when one types on', async () => {
    const lab = new Lab();
    const { answer } = await lab.type('f() {▮\n');
    lab.last().stream('\n  one();\n  tw');
    assert.equal(await answer, '\n  one();');
    assert.equal(lab.held.length, 1);
    await lab.last().finish({ text: '\n  one();\n  two();\n}' });
    const next = await lab.type('f() {\n  ▮\n');
    assert.equal(await next.answer, 'one();\n  two();\n}');
    assert.equal(lab.held.length, 1);
  });

  it('waits for the end of the first line, however long it takes', async () => {
    const lab = new Lab();
    const { answer } = await lab.type('▮\n');
    lab.last().stream('const a');
    await new Promise((resolve) => setTimeout(resolve, EARLY_MS + 50));
    await lab.last().finish({ text: 'const a = 1;' });
    assert.equal(await answer, 'const a = 1;');
  });

  it('takes the place of the editor’s brackets in what it shows early, and goes on when that is accepted', async () => {
    const lab = new Lab();
    const controller = new AbortController();
    const asked = lab.service.suggest(snapshotAt('if (▮)\n'), false, controller.signal);
    await settle();
    lab.last().stream('a) {\n  b();\n  c', 1);
    await new Promise((resolve) => setTimeout(resolve, EARLY_MS + 50));
    assert.deepEqual((await asked)?.offer, { text: 'a) {\n  b();', replaceAfter: 1 });
    const { answer } = await lab.type('if (a) {\n  b();▮\n');
    await lab.last().finish({ text: 'a) {\n  b();\n  c();\n}', replaceAfter: 1 });
    assert.equal(await answer, '\n  c();\n}');
    assert.equal(lab.held.length, 1);
  });

  it('does not offer again what was accepted', async () => {
    const lab = new Lab();
    const asked = lab.service.suggest(snapshotAt('a▮\n'), false, new AbortController().signal);
    await settle();
    await lab.last().finish({ text: 'b' });
    const suggestion = await asked;
    assert(suggestion);
    lab.service.accepted(suggestion.id);
    await lab.type('a▮\n');
    assert.equal(lab.held.length, 2);
  });

  it('gives a reason for every time that nothing is shown', async () => {
    const lab = new Lab();
    const reasons = (): string[] =>
      lab.decisions.map(({ outcome }) => (outcome.kind === 'nothing' ? outcome.reason : 'shown'));
    await lab.type('a▮\n');
    await lab.last().finish({ reason: 'repeats_suffix' });
    await lab.type('b▮\n');
    await lab.last().fail(new ProtocolError('unavailable', 'the engine process ended (SIGKILL)'));
    await lab.type('c▮\n');
    await lab.takeBack();
    await lab.type('d▮\n');
    await lab.last().finish({ text: 'x' });
    assert.deepEqual(reasons(), ['repeats_suffix', 'engine', 'superseded', 'shown']);
  });

  it('asks again after a crash', async () => {
    const lab = new Lab();
    await lab.type('a▮\n');
    await lab.last().fail(new ProtocolError('unavailable', 'gone'));
    const { answer } = await lab.type('a▮\n');
    assert.equal(lab.held.length, 2);
    await lab.last().finish({ text: 'b' });
    assert.equal(await answer, 'b');
  });

  it('random typing: what is shown always continues the document as the engine said', async () => {
    const target = 'const total = sum(items, (item) => item.price);';
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed % below;
    };
    const lab = new Lab();
    let typed = 0;
    for (let step = 0; step < 300; step++) {
      const back = random(4) === 0;
      typed = Math.max(0, Math.min(target.length - 1, typed + (back ? -1 - random(3) : 1)));
      const { answer } = await lab.type(`${target.slice(0, typed)}▮\n`);
      for (const held of lab.held.splice(0)) {
        const rest = target.slice(held.request.prefix.length);
        if (random(2) === 0) held.stream(rest.slice(0, random(rest.length)));
        await held.finish({ text: rest });
      }
      const text = await answer;
      if (text !== null) assert.equal(target.slice(0, typed) + text, target);
    }
    const { requests, cacheHits, pending } = lab.service.counters;
    assert.equal(pending, 0);
    assert(requests < 40 && cacheHits > 200, `${requests} requests, ${cacheHits} hits`);
  });
});
