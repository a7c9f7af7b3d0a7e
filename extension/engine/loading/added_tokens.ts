export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Declared a control token by the model. */
  readonly special: boolean;
  /** Swallows the blanks before or after it. */
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  /** Not recognised inside of a word. */
  readonly singleWord: boolean;
}

const WORD_CHAR = /[\p{L}\p{N}_]/u;

/** Gemma has learnt pages with these as one token each. */
const HTML_TAG =
  /^<\/?(?:table|caption|thead|tbody|tfoot|tr|th|td|h[1-6]|blockquote|strong|em|b|i|u|s|sub|sup|code)>$/;

/**
 * A control token: plain text never encodes to it. Whether the model calls it special is not enough: Qwen does not for
 * its fill-in-the-middle and tool tokens. Only runs of blanks and HTML's tags, which some vocabularies add whole, stay
 * ordinary.
 */
export function isControl({ special, content }: AddedToken): boolean {
  return special || !(/^[\s▁]+$/.test(content) || HTML_TAG.test(content));
}

/** Finds added tokens in text: leftmost first, at one place the longest. */
export class AddedTokens {
  private readonly byFirstChar = new Map<string, AddedToken[]>();

  constructor(tokens: readonly AddedToken[]) {
    const longestFirst = [...tokens].sort((a, b) => b.content.length - a.content.length);
    for (const token of longestFirst) {
      const first = token.content.charAt(0);
      const list = this.byFirstChar.get(first);
      if (list === undefined) this.byFirstChar.set(first, [token]);
      else list.push(token);
    }
  }

  /** The text in order, as added tokens and the non-empty pieces between them. */
  split(text: string): (AddedToken | string)[] {
    if (this.byFirstChar.size === 0) return text === '' ? [] : [text];
    const parts: (AddedToken | string)[] = [];
    let start = 0;
    for (let i = 0; i < text.length;) {
      const token = this.match(text, i);
      if (token === undefined) {
        i++;
        continue;
      }
      const before = text.slice(start, i);
      const kept = token.lstrip ? before.trimEnd() : before;
      if (kept !== '') parts.push(kept);
      parts.push(token);
      i += token.content.length;
      if (token.rstrip) i += text.length - i - text.slice(i).trimStart().length;
      start = i;
    }
    if (start < text.length) parts.push(text.slice(start));
    return parts;
  }

  private match(text: string, at: number): AddedToken | undefined {
    return this.byFirstChar
      .get(text.charAt(at))
      ?.find(
        (token) =>
          text.startsWith(token.content, at) && (!token.singleWord || standsAlone(text, at, token)),
      );
  }
}

function standsAlone(text: string, at: number, token: AddedToken): boolean {
  const end = at + token.content.length;
  return (
    !WORD_CHAR.test(text.slice(Math.max(at - 1, 0), at)) &&
    !WORD_CHAR.test(text.slice(end, end + 1))
  );
}
