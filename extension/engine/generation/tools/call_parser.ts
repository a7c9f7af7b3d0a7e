/** What the parsers of tool calls share: each model family writes calls in its own way. */

export interface ParsedCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

export type TextOrCall =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: ParsedCall };

/** Takes the calls out of an answer while it is written; the same for any cut of the text into pieces. */
export interface CallParser {
  push(delta: string): TextOrCall[];
  /** The rest, when no more text comes. */
  flush(): TextOrCall[];
}

/** A function that the model was told of. */
export interface ToolSchema {
  readonly name: string;
  /** JSON schema of the arguments, as text. */
  readonly parameters: string;
}

/** Null when the text is no call. `parameters` is how Llama models name the arguments. */
export function parseCall(body: string): ParsedCall | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('name' in value)) return null;
  const { name, arguments: own, parameters } = value as Record<string, unknown>;
  if (typeof name !== 'string' || name === '') return null;
  const given = own ?? parameters ?? {};
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return isObjectText(text) ? { name, arguments: text } : null;
}

export function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
