/** What a request may cost before it is refused; every limit of the server is here. */

/** Bytes of a request's body: a context of a million tokens as text. Node's own limit on headers is 16 KiB. */
export const MAX_BODY_BYTES = 16 * 2 ** 20;
/** Levels of JSON: clients need about 10 for tools with schemas; what copies a value recurses. */
export const MAX_JSON_DEPTH = 64;
/** Characters of one text: more than the largest context holds. */
export const MAX_TEXT = 4 * 2 ** 20;
export const MAX_MESSAGES = 4096;
export const MAX_PARTS = 1024;
export const MAX_TOOLS = 128;
/** Token ids of one prompt. */
export const MAX_IDS = 2 ** 20;
/** Stop strings, and characters of one: each is looked for in every piece of text. */
export const MAX_STOPS = 4;
export const MAX_STOP_LENGTH = 256;
/** Answers to one prompt, and prompts times answers of one request. */
export const MAX_N = 8;
export const MAX_CHOICES = 32;
/** OpenAI's limits on alternatives of a token. */
export const MAX_TOP_LOGPROBS = 20;
export const MAX_LEGACY_LOGPROBS = 5;
/** OpenAI's limits on one request for embeddings: texts, and their tokens together. */
export const MAX_EMBEDDINGS = 2048;
export const MAX_EMBEDDING_TOKENS = 300_000;
/** Of the texts of a request, those in the engine's hands: enough to fill its steps. */
export const EMBEDDINGS_AT_ONCE = 8;
/** Answers under way for all clients together, running or waiting; the next one gets 429. */
export const MAX_ACTIVE_CHOICES = 64;

/** Times, in milliseconds. A client that is slower than this holds a socket for nothing. */
export interface Timeouts {
  readonly headersMs: number;
  /** Of the whole request, its body included. */
  readonly requestMs: number;
  /** A stream that the client does not read any more. */
  readonly stalledMs: number;
  /** Between comments that keep a silent stream open on its way. */
  readonly pingMs: number;
  /** A model that loads longer is not waited for; the client is told to come again. */
  readonly loadMs: number;
}

export const TIMEOUTS: Timeouts = {
  headersMs: 15_000,
  requestMs: 30_000,
  stalledMs: 30_000,
  pingMs: 15_000,
  loadMs: 20_000,
};

/** Bytes of a stream that the client has not read; it is cut off when they are more. */
export const MAX_UNREAD_BYTES = 8 * 2 ** 20;
