import { amount, integer, nullable, object, oneOf, text, flag, type Check } from './check';

export const MULTILINE_MODES = ['auto', 'never', 'always'] as const;
/** auto: several lines only where the cursor's place asks for a block. */
export type MultilineMode = (typeof MULTILINE_MODES)[number];

/** The host cuts the document to these sizes; the engine then cuts to tokens. About 8,000 lines and 2,000 lines. */
export const MAX_PREFIX_CHARS = 256 * 1024;
export const MAX_SUFFIX_CHARS = 64 * 1024;
export const MAX_COMPLETION_TOKENS = 2048;

export interface CompletionRequest {
  /** Relative to the workspace, with '/'; may be empty. */
  readonly path: string;
  /** VS Code's language id, or the ending of the file's name. */
  readonly languageId: string;
  /** Document text before the cursor, from the start of a line. */
  readonly prefix: string;
  /** Document line on which `prefix` begins: the prompt's window is anchored to document lines. */
  readonly prefixLine: number;
  /** Document text after the cursor. */
  readonly suffix: string;
  readonly eol: '\n' | '\r\n';
  readonly tabSize: number;
  readonly insertSpaces: boolean;
  readonly multiline: MultilineMode;
  readonly maxTokens: number;
}

/** Why there is nothing to show. */
export const EMPTY_REASONS = [
  'model_silent', // the model ended at once or wrote only blanks
  'repeats_suffix', // all it wrote stands below or right of the cursor already
  'repeats_itself', // an endless loop from the first line on
  'unbalanced', // it began with a bracket that has no partner
  'cut_off', // the token limit came before the end of the first line
  'cancelled',
] as const;
export type EmptyReason = (typeof EMPTY_REASONS)[number];

/** What ended the text. */
export const STOP_CAUSES = [
  'model', // its own end-of-text token
  'line', // the end of the line, where one line was wanted
  'block', // the block is complete, or the text left it
  'suffix', // it reached what stands below or right of the cursor
  'bracket', // a closing bracket that the document has
  'repetition',
  'length',
  'cancelled',
] as const;
export type StopCause = (typeof STOP_CAUSES)[number];

export interface CompletionTimings {
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly totalMs: number;
}

export interface CompletionResult {
  /** Text to insert, in the document's line ends; empty with a `reason`. */
  readonly text: string;
  /** Characters right of the cursor, on its line, that `text` contains and takes the place of. */
  readonly replaceAfter: number;
  readonly reason: EmptyReason | null;
  readonly stop: StopCause;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly timings: CompletionTimings;
}

/** Text so far, whole; it only grows while the request runs, and it may end in the middle of a line. '\n' line ends. */
export interface CompletionPartial {
  readonly text: string;
  /** As in the result; of no meaning while `text` has one line. */
  readonly replaceAfter: number;
}

const MAX_TEXT = 64 * 1024;
const count = integer(0, 2 ** 31);

export const checkCompletionRequest: Check<CompletionRequest> = object<CompletionRequest>({
  path: text(4096),
  languageId: text(256),
  prefix: text(MAX_PREFIX_CHARS),
  prefixLine: count,
  suffix: text(MAX_SUFFIX_CHARS),
  eol: oneOf(['\n', '\r\n']),
  tabSize: integer(1, 64),
  insertSpaces: flag,
  multiline: oneOf(MULTILINE_MODES),
  maxTokens: integer(1, MAX_COMPLETION_TOKENS),
});

export const checkCompletionResult: Check<CompletionResult> = object<CompletionResult>({
  text: text(MAX_TEXT),
  replaceAfter: count,
  reason: nullable(oneOf(EMPTY_REASONS)),
  stop: oneOf(STOP_CAUSES),
  promptTokens: count,
  cachedTokens: count,
  generatedTokens: count,
  timings: object<CompletionTimings>({
    queueMs: amount,
    prefillMs: amount,
    decodeMs: amount,
    totalMs: amount,
  }),
});

export const checkCompletionPartial: Check<CompletionPartial> = object<CompletionPartial>({
  text: text(MAX_TEXT),
  replaceAfter: count,
});
