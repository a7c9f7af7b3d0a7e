import { fimPrompt } from '../../loading/fim';
import type { SamplingParams, TokenLogprob } from '../../generation/types';
import { checkPrompt } from '../context';
import type { ServerEngine } from '../engine';
import { badRequest } from '../errors';
import type { CompletionFields } from '../fields/completion';
import { grammarOf } from '../fields/format';
import type { PromptInput } from '../fields/prompt_input';
import type { ChoiceRequest } from '../generate';

/** One prompt of a completion request. */
export interface CompletionPrompt {
  /** What the model continues. */
  readonly ids: readonly number[];
  /** The prompt as text, for `echo`; empty without it. */
  readonly echo: string;
  /** The prompt's own tokens, to be scored one by one; null when they are not. */
  readonly scored: readonly number[] | null;
}

/** Reads one prompt, with or without a gap to fill. Throws 400 when the model cannot take it. */
export function completionPrompt(
  engine: ServerEngine,
  fields: CompletionFields,
  prompt: PromptInput,
  param: string,
): CompletionPrompt {
  const { tokenizer } = engine;
  const text = typeof prompt === 'string' ? tokenizer.encode(prompt) : prompt;
  const ids = fields.suffix ? gap(engine, text, fields.suffix) : withPrefix(engine, prompt, text);
  checkPrompt(engine, ids, param);
  const echo =
    fields.echo !== true ? '' : typeof prompt === 'string' ? prompt : tokenizer.decode(prompt);
  const isScored = fields.echo === true && fields.logprobs !== undefined;
  if (isScored && fields.suffix) {
    throw badRequest('unsupported_value', 'logprobs', 'logprobs: not with both echo and suffix');
  }
  return { ids, echo, scored: isScored ? text : null };
}

function gap(
  { tokenizer, fim }: ServerEngine,
  prefix: readonly number[],
  suffix: string,
): number[] {
  if (fim === null) {
    throw badRequest(
      'unsupported_value',
      'suffix',
      'suffix: this model cannot fill in; leave it out',
    );
  }
  return [...tokenizer.prefixIds, ...fimPrompt(fim, prefix, tokenizer.encode(suffix))];
}

/** Ids are taken as they are, text begins a sequence. */
function withPrefix(
  { tokenizer }: ServerEngine,
  prompt: PromptInput,
  text: readonly number[],
): readonly number[] {
  return typeof prompt === 'string' ? [...tokenizer.prefixIds, ...text] : text;
}

/** How the engine is asked; null when there is nothing to ask: an echo alone. */
export function completionRequest(
  { fim }: ServerEngine,
  fields: CompletionFields,
  { ids, scored }: CompletionPrompt,
  sampling: SamplingParams,
): ChoiceRequest | null {
  // Scored tokens are forced upon the model one after the other; at least one comes before the first.
  const start = scored === null ? ids.length : Math.max(1, ids.length - scored.length);
  const forcedIds = ids.slice(start);
  const format = grammarOf(fields);
  const maxTokens = forcedIds.length + (fields.max_tokens ?? DEFAULT_MAX_TOKENS);
  if (maxTokens === 0) return null;
  return {
    ids: ids.slice(0, start),
    forcedIds,
    maxTokens,
    sampling,
    stop: fields.stop,
    ...(format === null ? {} : { grammar: format.grammar }),
    ...(fields.suffix && fim ? { stopIds: fim.stopIds } : {}),
    ...(fields.logprobs === undefined ? {} : { logprobs: fields.logprobs }),
  };
}

/** OpenAI's. */
const DEFAULT_MAX_TOKENS = 16;

/** The first token of a scored prompt, which nothing comes before: it has no probability. */
export function unscoredStart({ ids, scored }: CompletionPrompt): number | null {
  return scored !== null && scored.length === ids.length ? (ids[0] ?? null) : null;
}

export interface LegacyLogprobs {
  tokens: string[];
  token_logprobs: (number | null)[];
  top_logprobs: (Record<string, number> | null)[];
  text_offset: number[];
}

/** Log probabilities in the shape of /v1/completions; `offset`: characters of the text before the answer. */
export function legacyLogprobs(
  { tokenizer }: ServerEngine,
  tokens: readonly TokenLogprob[],
  offset: number,
): LegacyLogprobs {
  const textOf = (id: number) => tokenizer.decode([id]);
  return {
    tokens: tokens.map(({ id }) => textOf(id)),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ id, logprob, top }): Record<string, number> => {
      const all = [...top, { id, logprob }];
      return Object.fromEntries(
        all.map((other): [string, number] => [textOf(other.id), other.logprob]),
      );
    }),
    text_offset: tokens.map(({ start }) => offset + start),
  };
}
