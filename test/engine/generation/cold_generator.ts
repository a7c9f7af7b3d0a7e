import type { Executable } from '../../../extension/engine/backend/backend';
import { extend, type DenseCache, type Slot } from './dense_cache';
import { isCancelled } from '../../../extension/engine/errors';
import type { Tokenizer } from '../../../extension/engine/loading/tokenizer';
import { AnswerFactory, type Answer } from '../../../extension/engine/generation/answer';
import type { GenerateRequest, GenerateResult } from '../../../extension/engine/generation/types';
import { validateRequest } from '../../../extension/engine/generation/validate';

export interface GeneratorParts {
  readonly executable: Executable;
  readonly cache: DenseCache;
  readonly tokenizer: Tokenizer;
  /** End-of-sequence ids of the model. */
  readonly eosIds: readonly number[];
  readonly vocabSize: number;
  /** Most tokens in one prefill step; a cancel is seen at the latest after one instruction of it. */
  readonly prefillStep: number;
}

/**
 * Prompt tokens in, text out, one request at a time, over the simple cache: what the scheduler is compared with. Tokens are
 * drawn where the scheduler's are: the backend's float32 sums and the sampler's float64 ones may differ where two tokens
 * meet.
 */
export class ColdGenerator {
  private tail: Promise<unknown> = Promise.resolve();
  private readonly answers: AnswerFactory;

  constructor(private readonly parts: GeneratorParts) {
    const { contextLength } = parts.cache;
    this.answers = new AnswerFactory({ ...parts, contextLength });
  }

  /** Rejects with bad_request when the prompt does not fit; an abort resolves with what was generated so far. */
  async generate(request: GenerateRequest): Promise<GenerateResult> {
    const { contextLength } = this.parts.cache;
    validateRequest(request, { contextLength, vocabSize: this.parts.vocabSize });
    const asked = performance.now();
    const result = this.tail.then(() => this.run(request, performance.now() - asked));
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async run(request: GenerateRequest, queueMs: number): Promise<GenerateResult> {
    const { executable, cache } = this.parts;
    const onAbort = () => executable.cancel();
    request.signal?.addEventListener('abort', onAbort, { once: true });
    const started = performance.now();
    const slot = cache.acquire(request.ids);
    const cachedTokens = slot.tokens.length;
    const answer = this.answers.begin(request);
    let prefilled = started;
    try {
      const first = await this.prefill(slot, request, answer);
      prefilled = performance.now();
      if (first !== null) await this.decode(slot, request, first, answer);
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      request.signal?.removeEventListener('abort', onAbort);
    }
    answer.finish();
    return {
      text: answer.text,
      ids: answer.ids,
      finishReason: request.signal?.aborted === true ? 'cancelled' : answer.finishReason,
      promptTokens: request.ids.length,
      cachedTokens,
      ...(answer.stopString === null ? {} : { stopString: answer.stopString }),
      ...(request.logprobs === undefined ? {} : { logprobs: answer.logprobs }),
      timings: { queueMs, prefillMs: prefilled - started, decodeMs: performance.now() - prefilled },
    };
  }

  /** What the first token is drawn from, or null after an abort. */
  private async prefill(
    slot: Slot,
    { ids, signal }: GenerateRequest,
    answer: Answer,
  ): Promise<Float32Array | number | null> {
    for (;;) {
      if (signal?.aborted === true) return null;
      const start = slot.tokens.length;
      const end = Math.min(ids.length, start + this.parts.prefillStep);
      const isLast = end === ids.length;
      const row = await this.extend(slot, ids.slice(start, end), isLast ? answer : null);
      if (row !== null) return row;
    }
  }

  private async decode(
    slot: Slot,
    { signal }: GenerateRequest,
    first: Float32Array | number,
    answer: Answer,
  ): Promise<void> {
    let row: Float32Array | number | null = first;
    while (row !== null && answer.draw(row)) {
      if (signal?.aborted === true) return;
      row = await this.extend(slot, answer.tokens.slice(-1), answer);
    }
  }

  /** `drawnFor`: the answer whose next token is drawn after these. */
  private extend(
    slot: Slot,
    ids: readonly number[],
    drawnFor: Answer | null,
  ): Promise<Float32Array | number | null> {
    const { executable, vocabSize } = this.parts;
    const next = drawnFor && { draw: drawnFor.drawAfter([]), vocabSize };
    return extend(executable, slot, ids, next);
  }
}
