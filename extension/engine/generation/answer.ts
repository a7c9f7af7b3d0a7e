import type { Draw } from '../backend/backend';
import { EngineError } from '../errors';
import { Detokenizer } from '../loading/detokenizer';
import type { Tokenizer } from '../loading/tokenizer';
import { Healing } from './healing';
import { logprobsOf } from './logprobs';
import { isPenalized } from './penalties';
import { sample } from './sampler';
import { StopMatcher } from './stop';
import type { FinishReason, GenerateRequest, TokenLogprob } from './types';
import { VocabularyIndex } from './vocabulary_index';

export interface AnswerParts {
  readonly tokenizer: Tokenizer;
  /** End-of-sequence ids of the model. */
  readonly eosIds: readonly number[];
  readonly vocabSize: number;
  /** Most tokens of prompt and answer together. */
  readonly contextLength: number;
}

/** Begins answers for one model; builds the sorted vocabulary when the first request needs it. */
export class AnswerFactory {
  private vocabulary: VocabularyIndex | null = null;

  constructor(private readonly parts: AnswerParts) {}

  begin(request: GenerateRequest): Answer {
    return new Answer(request, this.parts, this.healing(request));
  }

  private healing({ healedPrefix }: GenerateRequest): Healing | null {
    if (healedPrefix === undefined || healedPrefix.length === 0) return null;
    const { tokenizer, vocabSize } = this.parts;
    this.vocabulary ??= new VocabularyIndex(
      Array.from({ length: vocabSize }, (_, id) =>
        tokenizer.isSpecial(id) ? new Uint8Array() : tokenizer.tokenBytes(id),
      ),
    );
    return new Healing(this.vocabulary, healedPrefix);
  }
}

/** One answer under construction: draws tokens, turns bytes into characters, and knows when it has come to its end. */
export class Answer {
  text = '';
  readonly ids: number[] = [];
  /** Prompt and answer: the tokens to run. */
  readonly tokens: number[];
  finishReason: FinishReason = 'stop';
  /** Of the tokens that the text has reached the end of. */
  readonly logprobs: TokenLogprob[] = [];
  /** Of the tokens whose text is held back. */
  private heldLogprobs: TokenLogprob[] = [];
  /** Characters of all tokens so far, held back or not. */
  private decoded = 0;
  private readonly detokenizer: Detokenizer;
  private readonly stop: StopMatcher;
  private readonly ends: ReadonlySet<number>;
  private readonly forced: readonly number[];
  private ended = false;

  constructor(
    private readonly request: GenerateRequest,
    private readonly parts: AnswerParts,
    private readonly healing: Healing | null,
  ) {
    this.tokens = [...request.ids];
    this.detokenizer = new Detokenizer(parts.tokenizer);
    this.stop = new StopMatcher(request.stop);
    this.forced = request.forcedIds ?? [];
    this.ends = new Set(
      request.ignoreEos === true ? [] : [...parts.eosIds, ...(request.stopIds ?? [])],
    );
  }

  /** The stop string that the text ended before. */
  get stopString(): string | null {
    return this.stop.met;
  }

  /** Of the tokens that come next whatever the model thinks, at most `most`. */
  forcedNext(most: number): readonly number[] {
    const { length } = this.ids;
    return this.forced.slice(length, length + most);
  }

  /** Most tokens that can still be drawn. */
  get room(): number {
    const { ids, tokens, request, parts } = this;
    return Math.min(request.maxTokens - ids.length, parts.contextLength - tokens.length);
  }

  /**
   * How the backend may draw the token that follows `drafts`; null when its logits are wanted. The request and the tokens
   * before decide it, not the batch.
   */
  drawAfter(drafts: readonly number[]): Draw | null {
    const { sampling, constraint, logprobs } = this.request;
    const { tokenizer } = this.parts;
    const bytes = drafts.reduce((sum, id) => sum + tokenizer.tokenBytes(id).length, 0);
    const isHealing = this.healing?.isActiveAfter(bytes) === true;
    if (isHealing || logprobs !== undefined || isPenalized(sampling)) return null;
    const index = this.ids.length + drafts.length - this.forced.length;
    // What is forced is not drawn, and the constraint does not see it.
    const taken = drafts.slice(Math.max(this.forced.length - this.ids.length, 0));
    const allowed = constraint?.allowedAfter(taken) ?? null;
    if (constraint !== undefined && allowed === null) return null;
    const { temperature, topK, topP, minP, seed } = sampling;
    return { temperature, topK, topP, minP, seed, index: Math.max(index, 0), allowed };
  }

  /** Whether what another model would say next is of use. */
  get canGuess(): boolean {
    return !this.isHealing && this.forcedNext(1).length === 0;
  }

  /**
   * The token that would be drawn after `ahead` more ones from another model's logits, changed in place. It is drawn with
   * the random number of its place. `logits`: as of `draw`.
   */
  guess(logits: Float32Array | number, ahead: readonly number[]): number {
    if (typeof logits === 'number') return logits;
    const index = this.ids.length - this.forced.length + ahead.length;
    return sample(logits, this.request.sampling, [...this.tokens, ...ahead], index);
  }

  /**
   * Draws the next token from the logits of the last one, [at least vocabSize], changed in place, and streams what
   * is final. Where `drawAfter` said how, it is the token, or -1 where logits are not numbers. Returns false when no
   * further token is wanted; the token drawn then need not be run.
   */
  draw(next: Float32Array | number): boolean {
    const { vocabSize, contextLength } = this.parts;
    const { request, ids } = this;
    const { constraint, logprobs: count } = request;
    const row = typeof next === 'number' ? next : next.subarray(0, vocabSize);
    // Drawing changes them.
    const unchanged = count === undefined || typeof row === 'number' ? null : row.slice();
    const forced = this.forced[ids.length];
    const id = forced ?? this.choose(row);
    if (forced === undefined && this.ends.has(id)) return this.end('stop');
    if (forced === undefined) constraint?.accept(id);
    const scored = unchanged && logprobsOf(unchanged, id, count ?? 0);
    if (!this.push(id, scored, forced !== undefined)) return this.end('stop');
    if (constraint?.isComplete === true) return this.end('stop');
    if (ids.length >= request.maxTokens || this.tokens.length >= contextLength) {
      return this.end('length');
    }
    return true;
  }

  /** Gives out what was held back, unless the text has ended at a stop. */
  finish(): void {
    if (this.ended) return;
    const { text, stopped } = this.stop.push(this.detokenizer.flush());
    this.emit(stopped ? text : text + this.stop.flush(), true);
  }

  private get isHealing(): boolean {
    return this.healing?.active === true;
  }

  private choose(row: Float32Array | number): number {
    const index = this.ids.length - this.forced.length;
    const id = typeof row === 'number' ? row : this.sampled(row, index);
    if (typeof row === 'number' ? id >= 0 : Number.isFinite(row[id])) return id;
    throw new EngineError(
      'internal',
      `token ${index} of the answer: the logits are not numbers; the model or its kernels are broken`,
    );
  }

  private sampled(logits: Float32Array, index: number): number {
    const { request, tokens, healing } = this;
    const allowed = this.isHealing ? (healing?.allowed() ?? null) : null;
    request.constraint?.mask(logits);
    return sample(logits, request.sampling, tokens, index, allowed);
  }

  /** Takes a token; false when the text has come to its end. The text of forced ones may have stop strings. */
  private push(
    id: number,
    scored: Omit<TokenLogprob, 'start' | 'end'> | null,
    isForced: boolean,
  ): boolean {
    this.ids.push(id);
    this.tokens.push(id);
    const bytes = this.parts.tokenizer.tokenBytes(id);
    const delta = this.detokenizer.pushBytes(this.healing?.accept(bytes) ?? bytes);
    const start = this.decoded;
    this.decoded += delta.length;
    if (scored !== null) this.heldLogprobs.push({ ...scored, start, end: this.decoded });
    const { text, stopped } = isForced ? { text: delta, stopped: false } : this.stop.push(delta);
    const wanted = this.emit(text, stopped);
    this.ended = stopped || !wanted;
    return !this.ended;
  }

  private end(reason: FinishReason): false {
    this.finishReason = reason;
    return false;
  }

  /** `isLast`: no text follows, so that a token which the end cuts through is given out too. */
  private emit(text: string, isLast: boolean): boolean {
    this.text += text;
    const tokens = this.releaseLogprobs(isLast);
    if (text === '' && tokens.length === 0) return true;
    return this.request.onText?.(text, tokens) !== false;
  }

  private releaseLogprobs(isLast: boolean): TokenLogprob[] {
    const { length } = this.text;
    const isOut = ({ start, end }: TokenLogprob) =>
      isLast ? start < length || end <= length : end <= length;
    const held = this.heldLogprobs.findIndex((token) => !isOut(token));
    const tokens = this.heldLogprobs.splice(0, held < 0 ? this.heldLogprobs.length : held);
    this.logprobs.push(...tokens);
    return tokens;
  }
}
