import { badModel, messageOf } from './bad_model';
import { ModelFile } from './model_file';

export type JsonObject = Readonly<Record<string, unknown>>;

/** No file of a model nests deeper than ten levels; the cap keeps later recursive walks safe. */
const MAX_DEPTH = 64;

/** Reads a JSON object from a file below `root`; UTF-8, with or without a byte order mark. */
export function readJsonObject(path: string, root: string, maxBytes: number): JsonObject {
  return parseJsonObject(path, readFile(path, root, maxBytes));
}

/** The same of the bytes of a file. */
export function parseJsonObject(path: string, bytes: Uint8Array): JsonObject {
  const value = parseJsonText(path, decodeText(path, bytes));
  if (!isJsonObject(value)) throw badModel(path, `got ${kindOf(value)}, expected a JSON object`);
  return value;
}

/** Reads a UTF-8 text file below `root`, of at most `maxBytes`. */
export function readTextFile(path: string, root: string, maxBytes: number): string {
  return decodeText(path, readFile(path, root, maxBytes));
}

/** The bytes of a file below `root`, at most `maxBytes`. */
export function readFile(path: string, root: string, maxBytes: number): Uint8Array {
  return withFile(path, root, maxBytes, (file) => file.read(0, file.size));
}

/** What `use` makes of a file below `root` of at most `maxBytes`. */
export function withFile<T>(
  path: string,
  root: string,
  maxBytes: number,
  use: (file: ModelFile) => T,
): T {
  const file = ModelFile.open(path, root);
  try {
    if (file.size > maxBytes)
      throw badModel(path, `got ${file.size} bytes, expected at most ${maxBytes}`);
    return use(file);
  } finally {
    file.close();
  }
}

function decodeText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badModel(path, 'not UTF-8', error);
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For messages: `an array`, `null`, `a string` … */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function parseJsonText(path: string, text: string): unknown {
  const depth = nestingDepth(text);
  if (depth > MAX_DEPTH) throw badModel(path, `got more than ${MAX_DEPTH} nested levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badModel(path, `not JSON: ${messageOf(error)}`, error);
  }
}

/** Deepest nesting of brackets outside of strings; stops counting once it is over the limit. */
function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && deepest <= MAX_DEPTH; i++) {
    // Codes, not characters: a tokenizer has millions of them.
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        deepest = Math.max(deepest, ++depth);
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth--;
        break;
      default:
    }
  }
  return deepest;
}

/** Index of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = start + 1; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end;
    if (code === BACKSLASH) end++;
  }
  return text.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
