import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Executable, StepBatch } from '../../../extension/engine/backend/backend';
import { DenseCache } from './dense_cache';
import { EngineError } from '../../../extension/engine/errors';
import { ColdGenerator } from './cold_generator';
import { GREEDY, type GenerateRequest } from '../../../extension/engine/generation/types';
import type { Tokenizer } from '../../../extension/engine/loading/tokenizer';

/** Bytes are tokens; token 256 is the end of the sequence. */
const VOCAB = 257;
const EOS = 256;

const tokenizer: Tokenizer = {
  vocabSize: VOCAB,
  prefixIds: [],
  suffixIds: [],
  eosId: EOS,
  controlTexts: [],
  prepare: async () => undefined,
  leastTokens: () => 0,
  encode: (text) => [...Buffer.from(text)],
  encodeTemplate: (text) => [...Buffer.from(text)],
  decode: (ids) => Buffer.from(ids).toString(),
  tokenBytes: (id) => (id < 256 ? Uint8Array.of(id) : new Uint8Array()),
  specialId: () => null,
  isSpecial: (id) => id === EOS,
};

/** A model that continues every prompt with `text`, counted from the prompt's length, then ends. */
class Parrot implements Executable {
  readonly bytesPerToken = 0;
  readonly threads = 1;
  readonly steps: StepBatch[] = [];
  onStep: (step: number) => void = () => {};
  private cancelled = false;

  constructor(
    private readonly promptLength: number,
    private readonly text: Buffer,
  ) {}

  async step(batch: StepBatch): Promise<Float32Array> {
    this.steps.push(batch);
    this.onStep(this.steps.length);
    await Promise.resolve();
    if (this.cancelled) throw new EngineError('cancelled', 'cancelled');
    const logits = new Float32Array(VOCAB);
    const next = (batch.positions.at(-1) ?? 0) + 1 - this.promptLength;
    logits[this.text[next] ?? EOS] = 1;
    return batch.logitRows.length === 0 ? new Float32Array() : logits;
  }

  cancel(): void {
    this.cancelled = true;
  }

  dispose(): void {
    this.cancelled = true;
  }
}

function setUp(prompt: string, answer: string, contextLength = 256) {
  const executable = new Parrot(Buffer.byteLength(prompt), Buffer.from(answer));
  const generator = new ColdGenerator({
    executable,
    cache: new DenseCache(1, contextLength, 16),
    tokenizer,
    eosIds: [EOS],
    vocabSize: VOCAB,
    prefillStep: 8,
  });
  const request = (extra: Partial<GenerateRequest> = {}): GenerateRequest => ({
    ids: tokenizer.encode(prompt),
    maxTokens: 100,
    sampling: GREEDY,
    stop: [],
    ...extra,
  });
  return { executable, generator, request };
}

describe('generator', () => {
  test('prefills in chunks, streams, and ends at the end-of-sequence token', async () => {
    const { executable, generator, request } = setUp('a prompt of twenty-one', 'answer');
    let streamed = '';
    const result = await generator.generate(
      request({ onText: (delta) => ((streamed += delta), true) }),
    );
    assert.equal(result.text, 'answer');
    assert.equal(streamed, 'answer');
    assert.equal(result.finishReason, 'stop');
    assert.deepEqual(
      executable.steps.slice(0, 3).map((s) => s.tokens.length),
      [8, 8, 6],
    );
    assert.deepEqual(
      executable.steps.slice(0, 3).map((s) => s.logitRows.length),
      [0, 0, 1],
    );
  });

  test('a character whose bytes span tokens arrives whole', async () => {
    const { generator, request } = setUp('p', '1 é 😀 2');
    const deltas: string[] = [];
    const result = await generator.generate(
      request({ onText: (delta) => (deltas.push(delta), true) }),
    );
    assert.equal(result.text, '1 é 😀 2');
    assert.ok(deltas.includes('😀') && !deltas.join('').includes('\ufffd'));
  });

  test('stop strings, maxTokens and the context end the text with the right reason', async () => {
    const first = setUp('p', 'one two three');
    const stopped = await first.generator.generate(first.request({ stop: [' three'] }));
    assert.deepEqual([stopped.text, stopped.finishReason], ['one two', 'stop']);
    const second = setUp('p', 'one two three');
    const short = await second.generator.generate(second.request({ maxTokens: 3 }));
    assert.deepEqual([short.text, short.finishReason], ['one', 'length']);
    const third = setUp('p', 'x'.repeat(100), 32);
    const full = await third.generator.generate(third.request());
    assert.deepEqual([full.text.length, full.finishReason], [31, 'length']);
  });

  test('the caller ends the text by returning false', async () => {
    const { generator, request } = setUp('p', 'line\nmore');
    const result = await generator.generate(request({ onText: (delta) => !delta.includes('\n') }));
    assert.deepEqual([result.text, result.finishReason], ['line\n', 'stop']);
  });

  test('extra stop ids end the text; ignoreEos goes on', async () => {
    const { generator, request } = setUp('p', 'ab#c');
    const result = await generator.generate(request({ stopIds: ['#'.charCodeAt(0)] }));
    assert.equal(result.text, 'ab');
    const other = setUp('p', 'ab');
    const endless = await other.generator.generate(
      other.request({ ignoreEos: true, maxTokens: 5 }),
    );
    assert.equal(endless.ids.length, 5);
  });

  test('a second request with the same beginning pays only for the rest', async () => {
    const { generator, request } = setUp('the same prompt', 'x');
    assert.equal((await generator.generate(request())).cachedTokens, 0);
    assert.equal((await generator.generate(request())).cachedTokens, 14);
  });

  test('an abort during prefill or decode resolves with what there is, and the next request works', async () => {
    for (const at of [1, 2, 4]) {
      const { executable, generator, request } = setUp('a long prompt!', 'a long answer');
      const controller = new AbortController();
      executable.onStep = (step) => step === at && controller.abort();
      const result = await generator.generate(request({ signal: controller.signal }));
      assert.equal(result.finishReason, 'cancelled');
    }
  });

  test('a prompt that does not fit is refused with the numbers', async () => {
    const { generator, request } = setUp('p', 'x', 16);
    const ids = new Array<number>(16).fill(1);
    await assert.rejects(generator.generate(request({ ids })), /16 tokens, the context holds 16/);
    await assert.rejects(generator.generate(request({ ids: [] })), /prompt is empty/);
    await assert.rejects(generator.generate(request({ maxTokens: 0 })), /maxTokens 0/);
  });

  test('healed bytes are required of the first tokens and left out of the text', async () => {
    const { generator, request } = setUp('x = ', 'retain');
    const result = await generator.generate(request({ healedPrefix: Buffer.from('re') }));
    assert.equal(result.text, 'tain');
  });
});
