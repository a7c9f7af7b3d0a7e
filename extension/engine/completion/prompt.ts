import { EngineError } from '../errors';
import { fimPrompt } from '../loading/fim';
import type { CompletionEngine } from './engine';
import { splitForHealing } from './healing';
import { prefixWindow, suffixWindow, TokenCounter } from './window';

/** A longer prompt helps small models little and delays the first text after a jump of the cursor. */
export const MAX_PROMPT_TOKENS = 2048;
/** Of the prompt's tokens. Below the cursor less is needed than above it. */
export const SUFFIX_SHARE = 0.25;
/** Control tokens, and joins between parts that split differently than the parts alone. */
const SPARE_TOKENS = 16;
const MAX_PATH_TOKENS = 64;

type PromptEngine = Pick<CompletionEngine, 'tokenizer' | 'fim' | 'info'>;

export interface PromptText {
  readonly path: string;
  readonly prefix: string;
  readonly prefixLine: number;
  readonly suffix: string;
}

export interface Prompt {
  readonly ids: readonly number[];
  /** Bytes at the cursor that the first generated tokens must spell. */
  readonly healedPrefix: Uint8Array;
}

export interface PromptOptions {
  readonly maxTokens: number;
  readonly heal: boolean;
}

const counters = new WeakMap<object, TokenCounter>();

/**
 * The fill-in-the-middle prompt. Document text is encoded as plain text, so that the name of a control token in
 * somebody's source is never the token. Without FIM tokens the prefix alone is continued.
 */
export function buildPrompt(
  engine: PromptEngine,
  text: PromptText,
  options: PromptOptions,
): Prompt {
  const { tokenizer, fim } = engine;
  const { contextLength } = engine.info;
  const counter = counterOf(tokenizer);
  const header = fileHeader(engine, text.path);
  const room = Math.min(MAX_PROMPT_TOKENS, contextLength - options.maxTokens);
  const budget = room - header.length - SPARE_TOKENS;
  if (budget < SPARE_TOKENS) {
    throw new EngineError(
      'bad_request',
      `context of ${contextLength} tokens: too small for ${options.maxTokens} new tokens and a prompt; ` +
        'lower the limit of new tokens or raise the context length',
    );
  }
  const suffix = fim ? suffixWindow(text.suffix, Math.floor(budget * SUFFIX_SHARE), counter) : '';
  const left = budget - counter.count(suffix);
  const prefix = prefixWindow(text.prefix, text.prefixLine, left, counter);
  const { stable, healed } = options.heal
    ? splitForHealing(prefix)
    : { stable: prefix, healed: '' };
  const body = fim
    ? fimPrompt(fim, tokenizer.encode(stable), tokenizer.encode(suffix))
    : tokenizer.encode(stable);
  const ids = [...tokenizer.prefixIds, ...header, ...body];
  // An empty prompt cannot be continued; a line feed is a possible start of any file.
  if (ids.length === 0) ids.push(...tokenizer.encode('\n'));
  return { ids, healedPrefix: new TextEncoder().encode(healed) };
}

/** Ids that tell the model the file's path. A path of absurd length is not worth the context that it takes. */
function fileHeader({ tokenizer, fim }: PromptEngine, path: string): number[] {
  if (path === '' || fim?.fileSep === undefined) return [];
  const ids = tokenizer.encode(`${path}\n`);
  return ids.length <= MAX_PATH_TOKENS ? [fim.fileSep, ...ids] : [];
}

function counterOf(tokenizer: CompletionEngine['tokenizer']): TokenCounter {
  let counter = counters.get(tokenizer);
  if (!counter) {
    counter = new TokenCounter((text) => tokenizer.encode(text).length);
    counters.set(tokenizer, counter);
  }
  return counter;
}
