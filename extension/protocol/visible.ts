/**
 * Characters that a terminal or a log obeys instead of showing them: control characters but line end and tab (a carriage
 * return before a line end is part of it), and those that turn the direction of text.
 */
const HIDDEN = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/g;

/** The text with such characters written out: `\x1b[31m`, `\u202e`. What a model or a file says stays text. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => {
    const code = char.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
  });
}
