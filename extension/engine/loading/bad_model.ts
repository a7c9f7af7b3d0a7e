import { EngineError } from '../errors';

/** Longest quotation of a value that came from a file. */
const MAX_QUOTE = 80;
/** Longest message; libraries quote what they do not know in full. */
const MAX_MESSAGE = 1_500;

/** `<file>: <problem>` on one line, whatever a hostile file put into the problem. */
export function badModel(file: string, problem: string, cause?: unknown): EngineError {
  return new EngineError('bad_model', oneLine(`${file}: ${problem}`), { cause });
}

/** The same for a model that is well-formed, but that this engine does not run. */
export function unsupportedModel(file: string, problem: string): EngineError {
  return new EngineError('unsupported', oneLine(`${file}: ${problem}`));
}

/** A value from a file as short JSON. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}…` : text;
}

/** `a, b, c and 7 more`: the first three names, then a count. */
export function firstFew(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Control characters and line ends as spaces, and what is too long cut off. */
export function oneLine(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}
