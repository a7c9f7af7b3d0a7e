/** What a caller asks of the generator and what comes back. Shared by the CLI, the child and the server. */
import type { Constraint } from './constrain/constraint';

export interface SamplingParams {
  /** 0 = greedy. */
  readonly temperature: number;
  /** Keep the k most likely tokens; 0 = all. */
  readonly topK: number;
  /** Keep the smallest set with at least this probability; 1 = all. */
  readonly topP: number;
  /** Drop tokens less likely than minP times the likeliest; 0 = none. */
  readonly minP: number;
  /** Divides positive logits (multiplies negative ones) of tokens seen in the last `repetitionWindow`; 1 = off. */
  readonly repetitionPenalty: number;
  readonly repetitionWindow: number;
  /** Subtracted from the logits of tokens that the answer has already; 0 = off. */
  readonly presencePenalty?: number;
  /** Subtracted once for each time that the answer has the token; 0 = off. */
  readonly frequencyPenalty?: number;
  /** Added to the logits of these ids. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** Same seed, same prompt: same tokens, alone or in a batch. */
  readonly seed: number;
}

export const GREEDY: SamplingParams = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  repetitionWindow: 64,
  seed: 0,
};

/** A token and the logarithm of its probability before penalties, temperature and filters; at least MIN_LOGPROB. */
export interface Logprob {
  readonly id: number;
  readonly logprob: number;
}

/** A token of the answer, and the likeliest ones at its place, the likeliest first. */
export interface TokenLogprob extends Logprob {
  readonly top: readonly Logprob[];
  /** The part of the text that it completes: [start, end) in characters of the answer. */
  readonly start: number;
  readonly end: number;
}

export type FinishReason = 'stop' | 'length' | 'cancelled';

/** Who is served first when all cannot be: the user at the keyboard, the chat, other programs, unattended work. */
export type Priority = 'completion' | 'chat' | 'port' | 'background';

/** Takes what the model makes of a prompt. */
export interface HiddenReader {
  /** Whether it needs the states of all tokens, cached or not; else only the last one's. */
  readonly needsAll: boolean;
  /**
   * States float32 [n, hidden] of the prompt's tokens from position `first` on, before the last norm, in order. When the
   * request had to give way to others, they come again from an earlier position on.
   */
  add(states: Float32Array, first: number): void;
}

export interface GenerateRequest {
  readonly ids: readonly number[];
  readonly maxTokens: number;
  readonly sampling: SamplingParams;
  /** Generation ends before the first of these; a partial match at the end of the text is held back. */
  readonly stop: readonly string[];
  /** Tokens that end the generation beside the model's own end-of-sequence tokens; never part of the text. */
  readonly stopIds?: readonly number[];
  /** Goes on past end-of-sequence tokens to maxTokens (benchmarks). */
  readonly ignoreEos?: boolean;
  /** Whether tokens may be guessed ahead; the answer is the same. Default: true. */
  readonly drafts?: boolean;
  /** Default: 'completion'. */
  readonly priority?: Priority;
  readonly signal?: AbortSignal;
  /**
   * Text that will not change, in order. Returning false ends the generation with reason 'stop'. `tokens`: those that
   * the text has reached the end of, when logprobs are wanted.
   */
  readonly onText?: (delta: string, tokens?: readonly TokenLogprob[]) => boolean | undefined;
  /** Log probabilities are wanted: of each token, and so many of the likeliest at its place. */
  readonly logprobs?: number;
  /** Tokens that the answer begins with whatever the model thinks; with `logprobs`, they are scored. */
  readonly forcedIds?: readonly number[];
  /**
   * Token healing: the bytes that the first tokens must begin with; they are left out of `text`. The prompt ends
   * before them.
   */
  readonly healedPrefix?: Uint8Array;
  /** Wants the hidden states of the prompt instead of an answer, which stays empty. */
  readonly hidden?: HiddenReader;
  /** Holds the answer to a grammar; for this request alone. Not together with `healedPrefix`. */
  readonly constraint?: Constraint;
}

export interface GenerateTimings {
  /** Waiting for the engine and for the disk, prefill of the prompt, and decoding, in milliseconds. */
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
}

export interface GenerateResult {
  readonly text: string;
  /** Generated token ids, the end-of-sequence token not included. */
  readonly ids: readonly number[];
  readonly finishReason: FinishReason;
  /** The stop string that ended the text; absent when none did. */
  readonly stopString?: string;
  readonly promptTokens: number;
  /** Prompt tokens whose keys and values were in the cache. */
  readonly cachedTokens: number;
  /** Of the tokens that `text` has, also those that it has a part of; absent unless asked for. */
  readonly logprobs?: readonly TokenLogprob[];
  readonly timings: GenerateTimings;
}
