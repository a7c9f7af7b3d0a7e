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

/** Prompt tokens in, text out, one request at a time, over the simple cache: what the scheduler is compared with. */
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
      const logits = await this.prefill(slot, request);
      prefilled = performance.now();
      if (logits !== null) await this.decode(slot, request, logits, answer);
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

  /** Logits of the prompt's last token, or null after an abort. */
  private async prefill(
    slot: Slot,
    { ids, signal }: GenerateRequest,
  ): Promise<Float32Array | null> {
    for (;;) {
      if (signal?.aborted === true) return null;
      const start = slot.tokens.length;
      const end = Math.min(ids.length, start + this.parts.prefillStep);
      const logits = await extend(
        this.parts.executable,
        slot,
        ids.slice(start, end),
        end === ids.length,
      );
      if (logits !== null) return logits;
    }
  }

  private async decode(
    slot: Slot,
    { signal }: GenerateRequest,
    first: Float32Array,
    answer: Answer,
  ): Promise<void> {
    let logits: Float32Array | null = first;
    while (logits !== null && answer.draw(logits)) {
      if (signal?.aborted === true) return;
      logits = await extend(this.parts.executable, slot, answer.tokens.slice(-1), true);
    }
  }
}
